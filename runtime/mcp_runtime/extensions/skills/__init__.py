"""The Skills extension (SEP-2640): serve folders of instructions with a SKILL.md, and load them, verified."""

from mcp_runtime.extensions.skills.client import Cache, Skill, SkillError, iter_skills, load_skill, read_directory
from mcp_runtime.extensions.skills.server import Skills

__all__ = ["Cache", "Skill", "SkillError", "Skills", "iter_skills", "load_skill", "read_directory"]
