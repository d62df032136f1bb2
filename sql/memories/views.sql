-- Views of memories: current ones, and all versions.

-- Every version of every memory, with both times. Under the policies: rows of granted namespaces only.
create or replace view loci.memory_versions with (security_invoker = true) as
select n.name as namespace, m.id, m.lineage, m.version, m.content,
       (select coalesce((select v.id from loci_data.memories v
                         where v.namespace_id = p.namespace_id and v.lineage_id = p.parent_id
                           and loci.holds_at(v, t.moment, null) limit 1),
                        (select v.id from loci_data.memories v where v.namespace_id = p.namespace_id
                         and v.lineage_id = p.parent_id
                         order by v.version limit 1))
        from loci_data.memory_placements p
        where p.namespace_id = m.namespace_id and p.node_id = m.lineage_id
          and loci.holds_at(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, t.moment, null)) as parent_id,
       m.valid_from, m.valid_to, m.recorded_at, m.superseded_at,
       loci.holds_at(m, statement_timestamp(), null) as current,
       m.status, m.source, m.session_id, m.observations, m.last_observed_at, m.updated_at,
       m.category collate "C" as category, m.tags, m.layer, m.importance, m.confidence, m.metadata,
       loci.memory_about(m) as about
from loci_data.memories m
join loci_data.namespaces n on n.id = m.namespace_id
cross join lateral (select greatest(m.valid_from,
                                    least(statement_timestamp(), m.valid_to - interval '1 microsecond')) as moment) t;
comment on view loci.memory_versions is 'Every version of every memory. current: active and valid now.';
comment on column loci.memory_versions.namespace is 'Name of the namespace.';
comment on column loci.memory_versions.id is 'Identifier of this version.';
comment on column loci.memory_versions.lineage is 'Name that groups the versions.';
comment on column loci.memory_versions.version is '1 for the first, in the order of recording.';
comment on column loci.memory_versions.content is 'The statement.';
comment on column loci.memory_versions.parent_id is
    'The memory it stood under, now or when it was last valid. Joins memory_versions.id.';
comment on column loci.memory_versions.valid_from is 'Valid time: from when it is true.';
comment on column loci.memory_versions.valid_to is 'Valid time: until when (exclusive); null: still.';
comment on column loci.memory_versions.recorded_at is 'Recorded time: when it was written.';
comment on column loci.memory_versions.superseded_at is
    'Recorded time: when a later version first ended it; null where that is still to come.';
comment on column loci.memory_versions.current is 'Whether it is active and valid now.';
comment on column loci.memory_versions.status is 'active or forgotten.';
comment on column loci.memory_versions.source is 'The speaker.';
comment on column loci.memory_versions.session_id is 'The conversation it comes from.';
comment on column loci.memory_versions.observations is 'How often exactly this was written.';
comment on column loci.memory_versions.last_observed_at is 'When it was last written.';
comment on column loci.memory_versions.updated_at is 'When any column last changed.';
do $$
declare
    v_detail record;
begin
    for v_detail in select a.attname as name, col_description(a.attrelid, a.attnum) as comment from pg_attribute a
                    where a.attrelid = 'loci.memory_details'::regclass and a.attnum > 0 loop
        execute format('comment on column loci.memory_versions.%I is %L', v_detail.name, v_detail.comment);
    end loop;
end $$;

-- Memories that are believed and valid now. Under the policies: rows of granted namespaces only.
create or replace view loci.current_memories with (security_invoker = true) as
select n.name as namespace, m.id, m.lineage, m.version, m.content,
       (select coalesce((select v.id from loci_data.memories v
                         where v.namespace_id = p.namespace_id and v.lineage_id = p.parent_id
                           and loci.holds_at(v, statement_timestamp(), null) limit 1),
                        (select v.id from loci_data.memories v where v.namespace_id = p.namespace_id
                         and v.lineage_id = p.parent_id
                         order by v.version limit 1))
        from loci_data.memory_placements p
        where p.namespace_id = m.namespace_id and p.node_id = m.lineage_id
          and loci.holds_at(p.valid_from, p.valid_to, p.recorded_at, p.superseded_at, statement_timestamp(),
                            null)) as parent_id,
       m.valid_from,
       m.valid_to, m.recorded_at, m.source, m.session_id, m.observations, m.last_observed_at, m.updated_at,
       m.category collate "C" as category, m.tags, m.layer, m.importance, m.confidence, m.metadata,
       loci.memory_about(m) as about
from loci_data.memories m join loci_data.namespaces n on n.id = m.namespace_id
where loci.holds_at(m, statement_timestamp(), null);
comment on view loci.current_memories is 'Memories that are active and valid now.';
do $$
declare
    v_column record;
begin
    for v_column in select c.attname as name, col_description(v.attrelid, v.attnum) as comment
                    from pg_attribute v join pg_attribute c on c.attname = v.attname
                    where v.attrelid = 'loci.memory_versions'::regclass and v.attnum > 0
                      and c.attrelid = 'loci.current_memories'::regclass
    loop
        execute format('comment on column loci.current_memories.%I is %L', v_column.name, v_column.comment);
    end loop;
end $$;
comment on column loci.current_memories.parent_id is
    'The memory it stands under: its current version. Joins memory_versions.id.';
