-- Write items that name a lineage, at most one for each: a new version, placed in the chain by its valid_from. A
-- change ends the version that was valid then, and the belief in it unless the new one begins in the future; where the
-- new one states an end before that, the old statement goes on after it, as a version of its own
-- (resume_interrupted_versions). A correction (corrects) leaves the version that it corrects valid never, and so does
-- a write that states the very valid_from of a version. A stated end beyond the beginning of the next version is cut
-- short there, and the outcome says so. Lineage rows are locked by the caller, so nobody else writes these chains. A
-- write without valid_from comes after every version already recorded, even if the clock went back.
-- Errors: P0002, 22023, 23P01.
create or replace function loci_internal.insert_versions(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                         p_at timestamptz)
returns setof loci_internal.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_plan    loci_internal.memory_input[];
    v_touched uuid[];  -- for the index: a join alone may be planned as a scan of the namespace
begin
    if exists (select from unnest(p_items) i where i.corrects is not null) then
        perform loci_internal.check_corrections(p_namespace_id, p_items);
    end if;
    v_plan := loci_internal.plan_versions(p_namespace_id, p_items, p_at);

    v_touched := array(select t.id from unnest(v_plan) i
                       cross join lateral (values (i.id), (i.ends), (i.lengthens), (i.corrects)) t(id)
                       where t.id is not null);
    update loci_data.memories m
    set observations = m.observations + 1, last_observed_at = i.recorded_at, updated_at = i.recorded_at
    from unnest(v_plan) i
    where i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = i.id;

    update loci_data.memories m
    set valid_to = coalesce(e.valid_to, m.valid_from), superseded_at = coalesce(m.superseded_at,
            case when e.valid_to > e.superseded_at then null else e.superseded_at end),
        updated_at = i.recorded_at
    from unnest(v_plan) i
    cross join lateral (values (i.ends, i.valid_from, i.recorded_at), (i.lengthens, i.until, null),
                        (i.corrects, null, i.recorded_at))
        e(id, valid_to, superseded_at)
    where not i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = e.id;

    update loci_data.lineages l set versions = l.versions + (not i.duplicate)::integer, written_at = i.recorded_at
    from unnest(v_plan) i where l.namespace_id = p_namespace_id and l.lineage = i.lineage;

    insert into loci_data.memories overriding user value  -- in the order of its columns
    select p_namespace_id, i.id, null, i.lineage, l.id, l.versions, i.content, i.content_hash, i.fold_scope,
           i.valid_from, i.valid_to,
           i.recorded_at, i.recorded_at, null, 'active', i.source, i.session_id, 1, i.recorded_at,
           (select loci.current_agent()), i.recorded_at,
           (i.details).*
    from unnest(v_plan) i join loci_data.lineages l on l.namespace_id = p_namespace_id and l.lineage = i.lineage
    where not i.duplicate order by i.ordinal;
    if exists (select from unnest(v_plan) i where i.resumes and not i.duplicate) then
        perform loci_internal.resume_interrupted_versions(p_namespace_id, v_plan);
    end if;
    return query
    select i.ordinal, i.id, case when not i.duplicate then coalesce(i.corrects, i.ends) end, i.duplicate, null::text[],
           case when i.valid_to < s.valid_to then jsonb_build_object('stated', s.valid_to, 'kept', i.valid_to, 'by', (
               select m.id from loci_data.memories m
               where m.namespace_id = p_namespace_id and m.lineage = i.lineage and m.status = 'active'
                 and m.valid_from = i.valid_to and (m.valid_to is null or m.valid_to > m.valid_from) limit 1)) end
    from unnest(v_plan) i join unnest(p_items) s on s.ordinal = i.ordinal;
end $$;
comment on function loci_internal.insert_versions(integer, loci_internal.memory_input[], timestamptz) is
    'Insert new versions of locked lineages, ending what they supersede.';

-- May these items correct what they say they correct? It must be a version of the stated lineage that is believed and
-- was ever valid, and its correction must not end before it begins. Errors: P0002, 22023, 23P01 (corrected or forgotten
-- already).
create or replace function loci_internal.check_corrections(p_namespace_id integer,
                                                           p_items loci_internal.memory_input[]) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_item record;
begin
    for v_item in
        select i.*, m.id as found, m.lineage as its_lineage, coalesce(i.valid_from, m.valid_from) as start,
               coalesce(i.valid_to, m.valid_to) as final,
               m.status = 'active' and (m.valid_to is null or m.valid_to > m.valid_from) as believed
        from unnest(p_items) i left join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = i.corrects
        where i.corrects is not null
    loop
        if v_item.found is null then
            raise no_data_found using message = format('memory %s does not exist', v_item.corrects),
                column = 'corrects';
        elsif v_item.its_lineage <> v_item.lineage then
            raise invalid_parameter_value using column = 'corrects',
                message = format('memory %s is a version of lineage %L, not of %L', v_item.corrects,
                                 v_item.its_lineage, v_item.lineage);
        elsif not v_item.believed then
            raise exclusion_violation using column = 'corrects', constraint = 'memories_corrects',
                message = format('memory %s is no longer current: it was corrected or forgotten', v_item.corrects);
        elsif v_item.final < v_item.start then
            raise invalid_parameter_value using column = 'valid_from',
                message = format('the correction would end (%s) before it begins (%s)', v_item.final, v_item.start);
        end if;
    end loop;
end $$;
comment on function loci_internal.check_corrections(integer, loci_internal.memory_input[]) is
    'Refuse corrections of what is not there or not believed.';
