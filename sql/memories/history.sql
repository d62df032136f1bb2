-- History of a memory: versions and beliefs.

-- Find the lineage that a name or the id of one of its versions means, of which something had been recorded by then.
-- Errors: P0002.
create or replace function loci_internal.find_lineage(p_namespace_id integer, p_ref text, p_known_at timestamptz)
returns text
language plpgsql stable set search_path = ''
as $$
declare
    v_lineage text := p_ref;
begin
    if p_ref ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then
        v_lineage := coalesce((select m.lineage from loci_data.memories m where m.namespace_id = p_namespace_id
                               and m.id = p_ref::uuid), p_ref);
    end if;
    if not exists (select from loci_data.memories m where m.namespace_id = p_namespace_id and m.lineage = v_lineage
                   and (p_known_at is null or m.recorded_at <= p_known_at)) then
        raise no_data_found using column = 'id',
            message = format('no memory and no lineage %L in namespace %L', p_ref,
                             (select n.name from loci_data.namespaces n where n.id = p_namespace_id));
    end if;
    return v_lineage;
end $$;
comment on function loci_internal.find_lineage(integer, text, timestamptz) is
    'Lineage that a name or an id means.';

-- Every version of a lineage, oldest first: by valid time, then by version. p_ref is the lineage, or the id of any of
-- its versions. known_at: the versions recorded by then, as they were believed then. as_of: those that had begun by
-- then; current is told at that moment. p_after: the version that the page before ended with. As believed now, a page
-- is a range of index memories_chain; as known then, the lineage is read once a page, because when its versions were
-- valid may have been believed otherwise. Errors: 42501, P0002, 22023 (there is no such version).
create or replace function loci.history(
    p_namespace text, p_ref text, p_limit integer default 1000, p_after integer default 0,
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns setof loci.memory_record
language plpgsql stable security definer set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
    v_ns      integer := loci_internal.authorize(p_namespace, 'reader');
    v_at      timestamptz := (loci_internal.resolve_filter(v_ns, '{}', p_as_of, p_known_at)).as_of;
    v_lineage text := loci_internal.find_lineage(v_ns, p_ref, p_known_at);
    v_after   timestamptz;  -- since when the version p_after is valid
    v_page    loci_data.memories[];
begin
    if p_after > 0 then
        select b.valid_from into v_after from loci_data.memories m
        cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
        where m.namespace_id = v_ns and m.lineage = v_lineage and m.version = p_after;
        if not found then
            perform loci_internal.read_cursor('no version', 'integer');
        end if;
    end if;
    if p_known_at is null then
        v_page := array(
            select m from loci_data.memories m
            where m.namespace_id = v_ns
              and m.lineage_id = (select l.lineage_id from loci_data.memories l
                                  where l.namespace_id = v_ns and l.lineage = v_lineage limit 1)
              and m.valid_from >= coalesce(v_after, '-infinity') and m.valid_from <= coalesce(p_as_of, 'infinity')
              and (v_after is null or (m.valid_from, m.version) > (v_after, p_after))
            order by m.valid_from, m.version limit p_limit);
    else
        v_page := array(
            select b from loci_data.memories m
            cross join lateral loci_internal.memory_as_believed(m, p_known_at) b
            where m.namespace_id = v_ns and m.lineage = v_lineage and m.recorded_at <= p_known_at
              and (p_as_of is null or b.valid_from <= p_as_of)
              and (v_after is null or (b.valid_from, b.version) > (v_after, p_after))
            order by b.valid_from, b.version limit p_limit);
    end if;
    return query
    select (loci.memory_record(b, v_at, p.parent_id)).*
    from unnest(v_page) b
    left join lateral loci_internal.parent_of(b, v_at, p_known_at) p on true
    order by b.valid_from, b.version;
end $$;
comment on function loci.history(text, text, integer, integer, timestamptz, timestamptz) is
    'All versions of a lineage (by name, or by the id of a version), oldest first by valid time, '
    'at two times. Errors: 42501, P0002, 22023.';

-- A memory as it was believed at a moment: nothing (a row of nulls) before it was recorded. Counters (observations,
-- last_observed_at) are always those of now. One primary key range of memory_beliefs, and only if the memory changed
-- since. Called once a record, so it has no settings of its own.
create or replace function loci_internal.memory_as_believed(p_memory loci_data.memories, p_known_at timestamptz)
returns loci_data.memories
language plpgsql stable parallel safe
as $$
declare
    v_belief record;
begin
    if p_known_at is null or p_memory.believed_at <= p_known_at then
        return p_memory;
    elsif p_memory.recorded_at > p_known_at then
        return null;
    end if;
    select b.valid_from, b.valid_to, b.status, b.believed_at, b.details into v_belief from loci_data.memory_beliefs b
    where b.namespace_id = p_memory.namespace_id and b.memory_id = p_memory.id
      and b.believed_at <= p_known_at and b.believed_to > p_known_at;
    return (p_memory.namespace_id, p_memory.id, p_memory.doc_id, p_memory.lineage, p_memory.lineage_id,
            p_memory.version, p_memory.content,
            p_memory.content_hash, p_memory.fold_scope, v_belief.valid_from, v_belief.valid_to, p_memory.recorded_at,
            v_belief.believed_at,
            case when p_memory.superseded_at <= p_known_at then p_memory.superseded_at end, v_belief.status,
            p_memory.source, p_memory.session_id, p_memory.observations, p_memory.last_observed_at, p_memory.created_by,
            v_belief.believed_at, (v_belief.details).*)::loci_data.memories;
end $$;
comment on function loci_internal.memory_as_believed(loci_data.memories, timestamptz) is
    'A memory as believed at a moment (null: now); a row of nulls before it was recorded.';

-- Trigger: before validity, status or details of a memory change, what was believed until now is kept, so that known_at
-- can be answered for every moment. The change's own time, updated_at, ends the old belief. Compares here, where the
-- plan is kept: a function in the condition of a trigger is planned anew for every statement.
create or replace function loci_internal.archive_memory_belief() returns trigger
language plpgsql security definer set search_path = ''
as $$
begin
    if (old.valid_from, old.valid_to, old.status) is distinct from (new.valid_from, new.valid_to, new.status)
       or loci.memory_details(old) is distinct from loci.memory_details(new) then
        new.believed_at := greatest(new.updated_at, old.believed_at + interval '1 microsecond');
        insert into loci_data.memory_beliefs (namespace_id, memory_id, valid_from, valid_to, status, details,
                                              believed_at, believed_to)
        values (old.namespace_id, old.id, old.valid_from, old.valid_to, old.status, loci.memory_details(old),
                old.believed_at, new.believed_at);
    end if;
    return new;
end $$;
comment on function loci_internal.archive_memory_belief() is
    'Trigger: keep the ending belief about a memory in memory_beliefs.';

-- Nothing that was once believed is lost when a memory's validity, status or details change.
create or replace trigger memories_belief before update on loci_data.memories
    for each row execute function loci_internal.archive_memory_belief();
