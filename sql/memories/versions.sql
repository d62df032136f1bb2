-- Versions of a lineage: planned, inserted, never overlapping.

-- Write items that name a lineage, at most one for each: a new version, placed in the chain by its valid_from. A change
-- ends the version that was valid then, and the belief in it unless the new one begins in the future; where the new one
-- states an end before that, the old statement goes on after it, as a version of its own (resume_interrupted_versions).
-- A correction (corrects) leaves the version that it corrects valid never, and so does a write that states the very
-- valid_from of a version. A stated end beyond the beginning of the next version is cut short there, and the outcome
-- says so. Lineage rows are locked by the caller, so nobody else writes these chains. A write without valid_from comes
-- after every version already recorded, even if the clock went back. Errors: P0002, 22023, 23P01.
create or replace function loci_internal.insert_versions(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                         p_at timestamptz)
returns setof loci_internal.memory_outcome
language plpgsql volatile set search_path = ''
set enable_seqscan = off
as $$
declare
    v_plan loci_internal.memory_input[];
begin
    if exists (select from unnest(p_items) i where i.corrects is not null) then
        perform loci_internal.check_corrections(p_namespace_id, p_items);
    end if;
    v_plan := loci_internal.plan_versions(p_namespace_id, p_items, p_at);

    perform loci_internal.change_present_versions(p_namespace_id, v_plan);
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

-- Versions that are there as a plan of new ones leaves them: what an item repeats is reinforced; what one ends,
-- lengthens or corrects has another end.
create or replace function loci_internal.change_present_versions(p_namespace_id integer,
                                                                 p_plan loci_internal.memory_input[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_touched uuid[];  -- for the index: a join alone may be planned as a scan of the namespace
begin
    v_touched := array(select t.id from unnest(p_plan) i
                       cross join lateral (values (i.id), (i.ends), (i.lengthens), (i.corrects)) t(id)
                       where t.id is not null);
    update loci_data.memories m
    set observations = m.observations + 1, last_observed_at = i.recorded_at, updated_at = i.recorded_at
    from unnest(p_plan) i
    where i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = i.id;

    update loci_data.memories m
    set valid_to = coalesce(e.valid_to, m.valid_from), superseded_at = coalesce(m.superseded_at,
            case when e.valid_to > e.superseded_at then null else e.superseded_at end),
        updated_at = i.recorded_at
    from unnest(p_plan) i
    cross join lateral (values (i.ends, i.valid_from, i.recorded_at), (i.lengthens, i.until, null),
                        (i.corrects, null, i.recorded_at))
        e(id, valid_to, superseded_at)
    where not i.duplicate and m.namespace_id = p_namespace_id and m.id = any (v_touched) and m.id = e.id;
end $$;
comment on function loci_internal.change_present_versions(integer, loci_internal.memory_input[]) is
    'Reinforce, end, lengthen or correct the versions beside which new ones are planned.';

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

-- Where do items that name a lineage, at most one for each, stand in its chain? What each repeats, when it is recorded,
-- its validity (from its start to its end, or to the start of the version after), the version that it ends and whether
-- that goes on after it. A correction takes the validity of the version that it corrects; what ended where that one
-- began lasts until the new one begins. An item that repeats the version of now is a repetition, where that version is
-- open, or lasts until an announced one. Details that are not stated: see complete_memory_details. Index look-ups,
-- planned for any namespace: in one that the statistics do not know yet, every index that begins with it looks as good.
create or replace function loci_internal.plan_versions(p_namespace_id integer, p_items loci_internal.memory_input[],
                                                       p_at timestamptz)
returns loci_internal.memory_input[]
language plpgsql stable set search_path = '' set enable_seqscan = off set plan_cache_mode = force_generic_plan
as $$
begin
    return (
    select array_agg((i.ordinal, i.round, coalesce(same.id, announced.id, i.id), i.content, i.content_hash,
                      i.fold_scope, i.lineage, i.parent_id, start.valid_from, final.valid_to, i.source, i.session_id,
                      i.embedding, i.corrects, clock.recorded_at, ended.id,
                      ended.id is not null and final.valid_to < coalesce(ended.valid_to, 'infinity'), longer.id,
                      least(start.valid_from, longer.until),
                      coalesce(same.id, announced.id) is not null, i.on_duplicate,
                      loci_internal.complete_memory_details(i.details, last.details))::loci_internal.memory_input
                     order by i.ordinal)
    from unnest(p_items) i
    cross join lateral (select o.id, o.written_at from loci_data.lineages o
                        where o.namespace_id = p_namespace_id and o.lineage = i.lineage limit 1) l
    left join lateral (select m.believed_at, loci.memory_details(m) as details from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.lineage = i.lineage
                       order by m.version desc limit 1) last on true
    left join lateral (
        select m.id from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage = i.lineage and i.fold_scope is not null
          and m.content_hash = i.content_hash and m.valid_to is null and m.status = 'active'
          and m.layer <> 3 and m.valid_from <= greatest(p_at, m.recorded_at) limit 1) same on true
    left join lateral (select m.valid_from, m.valid_to from loci_data.memories m
                       where m.namespace_id = p_namespace_id and m.id = i.corrects limit 1) wrong on true
    cross join lateral (select greatest(p_at, l.written_at + interval '1 microsecond',
                                        last.believed_at + interval '1 microsecond') as recorded_at) clock
    cross join lateral (select coalesce(i.valid_from, wrong.valid_from, clock.recorded_at) as valid_from) start
    left join lateral (
        select n.id, n.valid_to, n.content_hash, n.layer
        from loci_internal.version_before(p_namespace_id, l.id, start.valid_from, i.corrects) n
        where (n.valid_to is null or n.valid_to > start.valid_from)  -- what is never true ends nothing
          and coalesce(i.valid_to, wrong.valid_to, 'infinity') > start.valid_from) ended on true
    left join lateral loci_internal.version_after(p_namespace_id, l.id, start.valid_from, i.corrects) next on true
    left join lateral (select ended.id where i.fold_scope is not null and ended.content_hash = i.content_hash
                       and ended.layer <> 3 and ended.valid_to = next.valid_from) announced on true
    left join lateral (
        select m.id, (select n.valid_from from loci_internal.version_after(
                          p_namespace_id, l.id, wrong.valid_from, i.corrects) n) as until
        from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.lineage_id = l.id and m.status = 'active'
          and m.valid_from < wrong.valid_from
          and m.valid_to = wrong.valid_from and start.valid_from > wrong.valid_from
        order by m.valid_from desc limit 1) longer on true
    cross join lateral (select least(coalesce(i.valid_to, wrong.valid_to), next.valid_from) as valid_to) final);
end $$;
comment on function loci_internal.plan_versions(integer, loci_internal.memory_input[], timestamptz) is
    'Place new versions in the chains of their lineages.';

-- The newest version of a lineage that begins at a moment or before it. It is active, was ever valid, and is not p_but.
-- A probe of index memories_chain. Inlines.
create or replace function loci_internal.version_before(p_namespace_id integer, p_lineage_id uuid, p_at timestamptz,
                                                        p_but uuid)
returns table (id uuid, valid_from timestamptz, valid_to timestamptz, content_hash bytea, layer smallint)
language sql stable parallel safe
as $$
    select m.id, m.valid_from, m.valid_to, m.content_hash, m.layer from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id and m.status = 'active'
      and m.id is distinct from p_but and m.valid_from <= p_at and (m.valid_to is null or m.valid_to > m.valid_from)
    order by m.valid_from desc limit 1
$$;
comment on function loci_internal.version_before(integer, uuid, timestamptz, uuid) is
    'Newest version of a lineage that begins at a moment or before it.';

-- The first version of a lineage that begins after a moment, of the same kind. Inlines.
create or replace function loci_internal.version_after(p_namespace_id integer, p_lineage_id uuid, p_at timestamptz,
                                                       p_but uuid)
returns table (id uuid, valid_from timestamptz, valid_to timestamptz, content_hash bytea, layer smallint)
language sql stable parallel safe
as $$
    select m.id, m.valid_from, m.valid_to, m.content_hash, m.layer from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.lineage_id = p_lineage_id and m.status = 'active'
      and m.id is distinct from p_but and m.valid_from > p_at and (m.valid_to is null or m.valid_to > m.valid_from)
    order by m.valid_from limit 1
$$;
comment on function loci_internal.version_after(integer, uuid, timestamptz, uuid) is
    'First version of a lineage that begins after a moment.';

-- Trigger: two active versions of one lineage are never valid at the same moment, whatever the writer does, and however
-- many write: the lineage's row is locked first (its writers hold that lock already). Two probes of the index
-- memories_chain: the neighbours in valid time. Empty intervals (corrected errors) overlap nothing. Planned once, for
-- any namespace: a plan for each row of a batch took longer to make than to run, and knew no statistics of a new one.
create or replace function loci_internal.refuse_version_overlap() returns trigger
language plpgsql security definer set search_path = '' set plan_cache_mode = force_generic_plan set enable_seqscan = off
as $$
declare
    v_other uuid;
begin
    perform from loci_data.lineages l where l.namespace_id = new.namespace_id and l.lineage = new.lineage
        for no key update;
    select b.id into v_other
    from loci_internal.version_before(new.namespace_id, new.lineage_id, new.valid_from, new.id) b
    where b.valid_to is null or b.valid_to > new.valid_from;
    if v_other is null then
        select a.id into v_other
        from loci_internal.version_after(new.namespace_id, new.lineage_id, new.valid_from, new.id) a
        where new.valid_to is null or a.valid_from < new.valid_to;
    end if;
    if v_other is not null then
        raise exclusion_violation using
            message = format('version %s of lineage %L would be valid together with memory %s', new.version,
                             new.lineage, v_other),
            constraint = 'memories_overlap', column = 'valid_from';
    end if;
    return null;
end $$;
comment on function loci_internal.refuse_version_overlap() is
    'Trigger: refuse versions of one lineage whose validity overlaps.';

-- A memory alone in its lineage (its own id is the name) has nothing to overlap with.
create or replace trigger memories_overlap_added after insert on loci_data.memories
    for each row when (new.lineage <> new.id::text and new.status = 'active'
                       and (new.valid_to is null or new.valid_to > new.valid_from))
    execute function loci_internal.refuse_version_overlap();

create or replace trigger memories_overlap_changed after update on loci_data.memories
    for each row when (new.status = 'active' and (new.valid_to is null or new.valid_to > new.valid_from)
                       and (old.valid_from, old.valid_to, old.status, old.lineage_id)
                           is distinct from (new.valid_from, new.valid_to, new.status, new.lineage_id))
    execute function loci_internal.refuse_version_overlap();
