/*
 * The Skills extension, io.modelcontextprotocol/skills. There is no official schema: this one is written from the rules
 * of SEP-2640. Each comment ends with the section that it follows.
 */
import type {
  CacheableResult,
  JSONObject,
  JSONRPCRequest,
  PaginatedRequest,
  PaginatedRequestParams,
  PaginatedResult,
  RequestParams,
  Resource,
} from "../2026-07-28/schema.js";

/** Lists the skills of a server; it may leave some out (Enumeration via skills/list). */
export interface ListSkillsRequest extends PaginatedRequest {
  method: "skills/list";
}

/** A page of skills (Enumeration via skills/list). */
export interface ListSkillsResult extends PaginatedResult, CacheableResult {
  /** The entries of the page; none is split across pages (Enumeration via skills/list). */
  skills: SkillEntry[];
}

/** A skill as of now: its metadata, and its files with their digests (Enumeration via skills/list). */
export interface SkillEntry {
  /**
   * The URI of its SKILL.md, which identifies it within the server (Skill URIs).
   * @format uri
   */
  uri: string;
  /** The whole YAML frontmatter of its SKILL.md as JSON, with at least `name` and `description` (Frontmatter). */
  frontmatter: JSONObject;
  /** Every file, each once, SKILL.md included; `dynamic` if they have no stable digests (Resources). */
  resources: SkillFile[] | "dynamic";
}

/** A file of a skill (Resources). */
export interface SkillFile {
  /**
   * The URI of the file, in the directory of the skill (Resources).
   * @format uri
   */
  uri: string;
  /** `sha256:` and 64 lowercase hexadecimal digits, computed over its raw bytes (Integrity and verification). */
  digest: string;
  /**
   * Its length in bytes (Resources).
   * @format int
   * @minimum 0
   */
  size: number;
}

/** Returns one skill, whether it is listed or not (Retrieval via skills/get). */
export interface GetSkillRequest extends JSONRPCRequest {
  method: "skills/get";
  params: GetSkillRequestParams;
}

/** The skill to return (Retrieval via skills/get). */
export interface GetSkillRequestParams extends RequestParams {
  /**
   * The URI of its SKILL.md (Retrieval via skills/get).
   * @format uri
   */
  uri: string;
}

/** A skill, as `skills/list` would return it (Retrieval via skills/get). */
export interface GetSkillResult extends CacheableResult {
  /** The skill (Retrieval via skills/get). */
  skill: SkillEntry;
}

/** Lists what a directory contains, but not what its subdirectories contain (Directory Listing). */
export interface ReadDirectoryRequest extends JSONRPCRequest {
  method: "resources/directory/read";
  params: ReadDirectoryRequestParams;
}

/** The directory to list (Directory Listing). */
export interface ReadDirectoryRequestParams extends PaginatedRequestParams {
  /**
   * The URI of the directory, without a slash at the end (Directory Listing).
   * @format uri
   */
  uri: string;
}

/** A page of the children of a directory (Directory Listing). */
export interface ReadDirectoryResult extends PaginatedResult {
  /** Files, and directories with the media type `inode/directory` (Directory Listing). */
  resources: Resource[];
}

/** What a side declares; clients declare no settings (Capability Declaration). */
export interface SkillsSettings {
  /** Whether the server answers `resources/directory/read`; false by default (Capability Declaration). */
  directoryRead?: boolean;
}
