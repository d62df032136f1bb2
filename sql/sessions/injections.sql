-- Memories that a session was shown, in a context or beside a recall, and whether its words found them again. By
-- session the primary key, by memory injections_memory, by time injections_injected. Under the policies: rows of
-- granted namespaces only.
create or replace view loci.injections with (security_invoker = true) as
select n.name as namespace, i.session_id, i.memory_id, m.lineage, m.content as memory, i.injected_at, i.hits,
       i.last_hit_at, i.ended_at, i.agent_id, loci.agent_name(i.agent_id) as agent
from loci_data.injections i
join loci_data.namespaces n on n.id = i.namespace_id
join loci_data.memories m on m.namespace_id = i.namespace_id and m.id = i.memory_id;
comment on view loci.injections is
    'Memories that agents were given: one row for each memory that a session was shown, and whether it was used.';
comment on column loci.injections.namespace is 'Name of the namespace.';
comment on column loci.injections.session_id is
    'The conversation that was shown it; not the one that the memory comes from.';
comment on column loci.injections.memory_id is 'The memory: this version. Joins memory_versions.id.';
comment on column loci.injections.lineage is 'Name that groups the versions of the memory.';
comment on column loci.injections.memory is 'Content of the memory.';
comment on column loci.injections.injected_at is 'When it was shown; again only after the session had ended.';
comment on column loci.injections.hits is 'How many later searches of the session found it by its words.';
comment on column loci.injections.last_hit_at is 'When the last of them did; null: none.';
comment on column loci.injections.ended_at is
    'When the end of the session took account of it; null: the session goes on.';
comment on column loci.injections.agent_id is 'The agent that was given it.';
comment on column loci.injections.agent is 'Name of that agent.';
