-- What is believed and valid now. Under the policies: rows of granted namespaces only.
create or replace view loci.current_memories with (security_invoker = true) as
select n.name as namespace, m.id, m.lineage, m.version, m.content,
       (select coalesce((select v.id from loci_data.memories v
                         where v.namespace_id = p.namespace_id and v.lineage_id = p.parent_id and v.status = 'active'
                           and v.valid_from <= statement_timestamp() and (v.valid_to is null or v.valid_to > statement_timestamp()) limit 1),
                        (select v.id from loci_data.memories v where v.namespace_id = p.namespace_id and v.lineage_id = p.parent_id
                         order by v.version limit 1))
        from loci_data.memory_placements p
        where p.namespace_id = m.namespace_id and p.node_id = m.lineage_id
          and loci.is_held(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, statement_timestamp(), null)) as parent_id,
       m.valid_from,
       m.valid_to, m.recorded_at, m.source, m.session_id, m.observations, m.last_observed_at, m.updated_at,
       (loci.memory_details(m)).*
from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
where m.status = 'active' and m.valid_from <= statement_timestamp()
  and (m.valid_to is null or m.valid_to > statement_timestamp());
comment on view loci.current_memories is 'Memories that are active and valid now.';
comment on column loci.current_memories.namespace is 'Name of the namespace.';
comment on column loci.current_memories.id is 'Identifier of this version.';
comment on column loci.current_memories.lineage is 'Name that groups the versions.';
comment on column loci.current_memories.version is '1 for the first, in the order of recording.';
comment on column loci.current_memories.content is 'The statement.';
comment on column loci.current_memories.parent_id is 'The memory it stands under: its current version.';
comment on column loci.current_memories.valid_from is 'Valid time: from when it is true.';
comment on column loci.current_memories.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.current_memories.recorded_at is 'Recorded time: when it was written.';
comment on column loci.current_memories.source is 'Who said it.';
comment on column loci.current_memories.session_id is 'The conversation it comes from.';
comment on column loci.current_memories.observations is 'How often exactly this was written.';
comment on column loci.current_memories.last_observed_at is 'When it was last written.';
comment on column loci.current_memories.updated_at is 'When any column last changed.';
do $$
declare
    v_detail record;
begin
    for v_detail in select a.attname as name, col_description(a.attrelid, a.attnum) as comment from pg_attribute a
                    where a.attrelid = 'loci.memory_details'::regclass and a.attnum > 0 loop
        execute format('comment on column loci.current_memories.%I is %L', v_detail.name, v_detail.comment);
    end loop;
end $$;
