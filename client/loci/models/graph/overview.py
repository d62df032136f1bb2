"""What is known of one entity."""

from pydantic import BaseModel, Field

from loci.models.facts import AspectOut
from loci.models.graph.edges import EdgeOut
from loci.models.graph.entities import EntityEvent, EntityOut
from loci.models.memories import MemoryOut


class EntityOverview(BaseModel):
    """An entity, and of each list the first rows."""

    entity: EntityOut = Field(description="The entity itself")
    memories: list[MemoryOut] = Field(description="Memories that mention it, newest first")
    aspects: list[AspectOut] = Field(description="Its aspects with facts (`attributes`) and rules (`constraints`), heaviest first")
    edges: list[EdgeOut] = Field(description="Its edges, the surest and strongest first")
    timeline: list[EntityEvent] = Field(description="What happened around it, the latest first")
