-- Write items that name a lineage, at most one for each: a new version, placed in the chain by its valid_from (row M2; plan_versions).
-- A change ends the version that was valid then; where the new one states an end before that, the old statement goes on after
-- it, as a version of its own (resume_versions). A correction (corrects) leaves the version that it corrects valid never, and so does
-- a write that states the very valid_from of a version. Lineage rows are locked by the caller, so nobody else writes these chains.
-- A write without valid_from comes after every version already recorded, even if the clock went back. Internal. Errors: P0002, 22023, 23P01.
create or replace function loci.supersede_memories(p_namespace_id integer, p_items loci.memory_input[], p_at timestamptz)
returns setof loci.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_plan    loci.memory_input[];
    v_touched uuid[];  -- for the index: a join alone may be planned as a scan of the namespace
begin
    if exists (select from unnest(p_items) i where i.corrects is not null) then
        perform loci.check_corrections(p_namespace_id, p_items);
    end if;
    v_plan := loci.plan_versions(p_namespace_id, p_items, p_at);

    v_touched := array(select t.id from unnest(v_plan) i cross join lateral (values (i.id), (i.ends), (i.lengthens), (i.corrects)) t(id)
                       where t.id is not null);
    update loci_data.memories m
    set observations = m.observations + 1, last_observed_at = i.recorded_at, updated_at = i.recorded_at
    from unnest(v_plan) i
    where i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = i.id;

    update loci_data.memories m
    set valid_to = coalesce(e.valid_to, m.valid_from), superseded_at = coalesce(m.superseded_at, e.superseded_at), updated_at = i.recorded_at
    from unnest(v_plan) i
    cross join lateral (values (i.ends, i.valid_from, i.recorded_at), (i.lengthens, i.until, null), (i.corrects, null, i.recorded_at))
        e(id, valid_to, superseded_at)
    where not i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = e.id;

    update loci_data.lineages l set versions = l.versions + (not i.duplicate)::integer, written_at = i.recorded_at
    from unnest(v_plan) i where l.namespace_id = p_namespace_id and l.lineage = i.lineage;

    insert into loci_data.memories overriding user value  -- in the order of its columns
    select p_namespace_id, i.id, null, i.lineage, l.id, l.versions, i.content, i.content_hash, i.fold_scope, i.valid_from, i.valid_to,
           i.recorded_at, i.recorded_at, null, 'active', i.source, i.session_id, 1, i.recorded_at, (select loci.caller()), i.recorded_at,
           (i.details).*
    from unnest(v_plan) i join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    where not i.duplicate order by i.ordinal;
    if exists (select from unnest(v_plan) i where i.resumes and not i.duplicate) then
        perform loci.resume_versions(p_namespace_id, v_plan);
    end if;
    return query select i.ordinal, i.id, case when not i.duplicate then coalesce(i.corrects, i.ends) end, i.duplicate from unnest(v_plan) i;
end $$;
comment on function loci.supersede_memories(integer, loci.memory_input[], timestamptz) is 'Insert new versions of locked lineages, ending what they supersede. Internal.';
