-- Attributes become what they were before an operation: those that it wrote are deleted (a status: history keeps them),
-- the others get their status, validity, figures and successor back; decisions that it made are undone, so that no
-- sweep makes them again, and those that it undid are in force again; aspects get their weight back. What memories take
-- along by trigger has happened by then. All are locked (lock_undone). p_left: those to leave alone. Returns how many
-- attributes changed.
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
    set status = b.status, superseded_by = b.superseded_by, confidence = b.confidence, importance = b.importance,
        valid_from = b.valid_from,
        valid_to = b.valid_to, withdrawn_at = b.withdrawn_at, superseded_at = case when b.status <> 'active' then
            coalesce(a.superseded_at, v_at) end,
        updated_at = greatest(a.updated_at, v_at)
    from (select c.subject_id as id, case when c.created then '{"status": "deleted", "withdrawn_at": null}'
          else c.before end as fields
          from loci_internal.net_changes(p_namespace_id, p_operation, 'attribute') c offset 0) n
    cross join lateral (select x as row from loci_data.attributes x where x.namespace_id = p_namespace_id
                        and x.id = n.id limit 1) t
    cross join lateral jsonb_populate_record(t.row, n.fields) b
    where a.namespace_id = p_namespace_id and a.id = any (v_ids) and a.id = n.id
      and (b.status, b.superseded_by, b.confidence, b.importance, b.valid_from, b.valid_to, b.withdrawn_at)
          is distinct from (a.status, a.superseded_by, a.confidence, a.importance, a.valid_from, a.valid_to,
                            a.withdrawn_at);
    get diagnostics v_count = row_count;
    update loci_data.supersessions s
    set status = f.status, decided_at = v_at, decided_by = loci.current_agent(), undone_at = case f.status
        when 'undone' then v_at end
    from (select n.subject_id as id, case when n.created then 'undone' else n.before ->> 'status' end as status
          from loci_internal.net_changes(p_namespace_id, p_operation, 'supersession') n
          where n.subject_id <> all (p_left) offset 0) f
    where s.namespace_id = p_namespace_id and s.id = f.id and s.status <> f.status and s.ended_at is null;
    return v_count;
end $$;
comment on function loci_internal.undo_attributes(integer, uuid, uuid[]) is
    'Make aspects, attributes and supersessions what they were before an operation; how many attributes.';
