-- Undo of attributes and supersessions.

-- Attributes become what they were before an operation: those that it wrote are deleted (a status: history keeps them),
-- of the others what it said is as before, and so are its decisions (undo_supersessions); the rest follows
-- (refold_facts). Aspects get their weight back. Effects of memories by trigger have happened by then. All are
-- locked (lock_undone). p_left: those to leave alone. Returns how many attributes it had written or said something of.
create or replace function loci_internal.undo_attributes(p_namespace_id integer, p_operation uuid, p_left uuid[])
returns integer
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_ids   uuid[] := array(select n.subject_id
                            from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n
                            where n.after is not null and n.subject_id <> all (p_left));
    v_at    timestamptz := clock_timestamp();
    v_count integer;
begin
    update loci_data.aspects s set weight = b.weight, single_valued = b.single_valued,
        updated_at = greatest(s.updated_at, v_at)
    from loci_internal.net_changes(p_namespace_id, p_operation, 'aspect') n
    cross join lateral jsonb_populate_record(null::loci_data.aspects, n.before) c
    cross join lateral (select case when n.before ? 'weight' then c.weight end as weight,
                        n.before ? 'single_valued' as said, c.single_valued) f
    cross join lateral (select coalesce(f.weight, x.weight) as weight, case when f.said then f.single_valued
                        else x.single_valued end as single_valued
                        from loci_data.aspects x where x.namespace_id = p_namespace_id
                            and x.id = n.subject_id limit 1) b
    where not n.created and n.before is not null and n.subject_id <> all (p_left) and s.namespace_id = p_namespace_id
      and s.id = n.subject_id
      and (s.weight, s.single_valued) is distinct from (b.weight, b.single_valued);
    update loci_data.attributes a
    set confidence = b.confidence, importance = b.importance, valid_from = b.valid_from, stated_to = b.stated_to,
        ended_at = b.ended_at, taken_back_at = b.taken_back_at, updated_at = greatest(a.updated_at, v_at)
    from (select c.subject_id as id, case when c.created then jsonb_build_object('taken_back_at', v_at)
          else c.before end as fields
          from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') c offset 0) n
    cross join lateral (select x as row from loci_data.attributes x where x.namespace_id = p_namespace_id
                        and x.id = n.id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.fields) b
    where a.namespace_id = p_namespace_id and a.id = any (v_ids) and a.id = n.id
      and (b.confidence, b.importance, b.valid_from, b.stated_to, b.ended_at, b.taken_back_at)
          is distinct from (a.confidence, a.importance, a.valid_from, a.stated_to, a.ended_at, a.taken_back_at);
    get diagnostics v_count = row_count;
    v_ids := v_ids || loci_internal.undo_supersessions(p_namespace_id, p_operation, p_left, v_at);
    perform loci_internal.refold_facts(p_namespace_id, v_ids, v_at, true,
                                       loci_internal.undone_since(p_namespace_id));
    return v_count;
end $$;
comment on function loci_internal.undo_attributes(integer, uuid, uuid[]) is
    'Make aspects, attributes and supersessions what they were before an operation; how many attributes.';

-- Decisions of an operation are what they were before it. Its decisions are undone, so that no sweep decides them
-- again; consequences of a fact that it brought back stay as long as both facts hold. Returns the older facts.
create or replace function loci_internal.undo_supersessions(p_namespace_id integer, p_operation uuid, p_left uuid[],
                                                            p_at timestamptz) returns uuid[]
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with found as materialized (
        select n.subject_id as id, case when n.created then 'undone' else n.before ->> 'status' end as status,
               n.created
        from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n
        where n.subject_id <> all (p_left)
    ), undone as (
        update loci_data.supersessions s
        set status = f.status, decided_at = p_at, decided_by = loci.current_agent(), undone_at = case f.status
            when 'undone' then p_at end
        from found f
        where s.namespace_id = p_namespace_id and s.id = f.id and s.status <> f.status and s.ended_at is null
          and (not f.created or s.origin <> 'inline' or exists (
               select from loci_data.attributes a where a.namespace_id = p_namespace_id
               and a.id in (s.older_id, s.newer_id) and a.taken_back_at = p_at))
        returning s.older_id
    )
    select coalesce(array_agg(u.older_id), '{}') from undone u
$$;
comment on function loci_internal.undo_supersessions(integer, uuid, uuid[], timestamptz) is
    'Make an operation''s decisions about facts what they were before it; the older facts.';

-- Facts rest again on the memories that they rested on before an operation: before those memories change, so that what
-- is forgotten by the undoing takes none of them along. Facts that a later operation based on something else stay; so
-- do p_left. They are locked (lock_undone).
create or replace function loci_internal.undo_attribute_sources(p_namespace_id integer, p_operation uuid,
                                                                p_left uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_moved jsonb := (
        select jsonb_object_agg(n.subject_id,
                                jsonb_build_object('before', n.before -> 'memory_id', 'after', n.after -> 'memory_id'))
        from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') n
        where not n.created and n.before ->> 'memory_id' <> n.after ->> 'memory_id' and n.subject_id <> all (p_left));
    v_ids   uuid[] := array(select k::uuid from jsonb_object_keys(v_moved) k);
begin
    update loci_data.attributes a set memory_id = (v_moved -> a.id::text ->> 'before')::uuid,
        updated_at = greatest(a.updated_at, clock_timestamp())
    where a.namespace_id = p_namespace_id and a.id = any (v_ids)
      and a.memory_id = (v_moved -> a.id::text ->> 'after')::uuid
      and exists (select from loci_data.memories m where m.namespace_id = p_namespace_id
                  and m.id = (v_moved -> a.id::text ->> 'before')::uuid);
end $$;
comment on function loci_internal.undo_attribute_sources(integer, uuid, uuid[]) is
    'Let facts rest on what they rested on before an operation.';
