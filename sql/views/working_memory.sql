-- What is in working memory now: expired entries are not, whether or not they were swept. Under the policies: rows of granted namespaces only.
create or replace view loci.working_memory with (security_invoker = true) as
select n.name as namespace, w.key, w.space, w.value, w.category, w.tags, w.agent_id, w.stored_at, w.expires_at
from loci_data.working_memory w
join loci_data.namespaces n on n.id = w.namespace_id
where w.expires_at > statement_timestamp();
comment on view loci.working_memory is 'Live entries of working memory.';
comment on column loci.working_memory.namespace is 'Name of the namespace.';
comment on column loci.working_memory.key is 'Full path.';
comment on column loci.working_memory.space is 'First two segments of the key.';
comment on column loci.working_memory.value is 'Any JSON.';
comment on column loci.working_memory.category is 'Slash path, or null.';
comment on column loci.working_memory.tags is 'Labels.';
comment on column loci.working_memory.agent_id is 'Whose entry it is.';
comment on column loci.working_memory.stored_at is 'When it was written.';
comment on column loci.working_memory.expires_at is 'From when it is unseen.';
