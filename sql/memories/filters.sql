-- Filters of memories, and who sees a memory.

-- Is a memory visible at the filter's two times, and does it pass the rest of it? Inlines into the arms. A row that
-- changed after known_at is judged as it was believed then (memory_was_visible).
create or replace function loci_internal.memory_is_visible(p_memory loci_data.memories,
                                                           p_filter loci_internal.memory_filter) returns boolean
language sql stable parallel safe
as $$
    select case when p_filter.known_at is null or p_memory.believed_at <= p_filter.known_at
            then loci.holds_at(p_memory, p_filter.as_of, null) and loci_internal.memory_matches(p_memory, p_filter)
            else p_memory.recorded_at <= p_filter.known_at and loci_internal.memory_was_visible(p_memory, p_filter) end
$$;
comment on function loci_internal.memory_is_visible(loci_data.memories, loci_internal.memory_filter) is
    'Whether a memory is active and valid at as_of, as believed at known_at, and passes the filters.';

-- The filter that restricts nothing but the two times. Inlines, and what it leaves open is then planned away.
create or replace function loci_internal.filter_at(p_as_of timestamptz, p_known_at timestamptz)
returns loci_internal.memory_filter
language sql immutable parallel safe
as $$
    select row(null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
               p_as_of, p_known_at, 'infinity', null, null, true)::loci_internal.memory_filter
$$;
comment on function loci_internal.filter_at(timestamptz, timestamptz) is
    'A filter of as_of and known_at alone.';

-- Does a memory stand under a node, at the filter's two times, and does it mention an entity? Two primary key look-ups.
create or replace function loci_internal.memory_is_related(p_namespace_id integer, p_id uuid, p_lineage_id uuid,
                                                           p_filter loci_internal.memory_filter)
returns boolean
language sql stable parallel safe
as $$
    select (p_filter.under is null or p_filter.under = p_lineage_id or exists (
            select from loci_data.memory_closure c
            where c.namespace_id = p_namespace_id and c.ancestor_id = p_filter.under and c.descendant_id = p_lineage_id
              and loci.holds_at(c.valid_from, c.valid_to, c.recorded_at, c.superseded_at, p_filter.as_of,
                                p_filter.known_at)))
   and (p_filter.entity_id is null or exists (
            select from loci_data.memory_mentions m
            where m.namespace_id = p_namespace_id and m.memory_id = p_id and m.entity_id = p_filter.entity_id))
$$;
comment on function loci_internal.memory_is_related(integer, uuid, uuid, loci_internal.memory_filter) is
    'Whether a memory is in the filter''s subtree and mentions its entity (null: not asked).';

-- Does a memory pass the filters? Inlines into the arms. A plain filter, which restricts nothing but the times, costs
-- one comparison, and a null field of any other one; only subtree and entity need a look-up, done last. Categories
-- match on whole segments of the path: foo never matches foobar.
create or replace function loci_internal.memory_matches(p_memory loci_data.memories,
                                                        p_filter loci_internal.memory_filter) returns boolean
language sql stable parallel safe
as $$
    select p_filter.plain
    or (p_filter.category is null or p_memory.category = p_filter.category
        or starts_with(p_memory.category, p_filter.category || '/'))
   and (p_filter.tags is null or p_memory.tags && p_filter.tags)
   and (p_filter.tags_all is null or p_memory.tags @> p_filter.tags_all)
   and (p_filter.layers is null or p_memory.layer = any (p_filter.layers))
   and (p_filter.lineage is null or p_memory.lineage = p_filter.lineage)
   and (p_filter.source is null or p_memory.source = p_filter.source)
   and (p_filter.session_id is null or p_memory.session_id = p_filter.session_id)
   and (p_filter.metadata is null or p_memory.metadata @> p_filter.metadata)
   and (p_filter.valid_after is null or p_memory.valid_from >= p_filter.valid_after)
   and (p_filter.valid_before is null or p_memory.valid_from < p_filter.valid_before)
   and (p_filter.recorded_after is null or p_memory.recorded_at >= p_filter.recorded_after)
   and (p_filter.recorded_before is null or p_memory.recorded_at < p_filter.recorded_before)
   and (p_filter.min_importance is null or p_memory.importance >= p_filter.min_importance)
   and (p_filter.min_confidence is null or p_memory.confidence >= p_filter.min_confidence)
   and (p_filter.party is null or loci_internal.memory_party(p_memory.source, p_memory.created_by) = p_filter.party
                                  and loci.is_first_person(p_memory.content))
   and case when p_filter.about is null then true
            else loci.canonical_name(loci.memory_about(p_memory)) = any (p_filter.about) end
   and case when p_filter.under is null and p_filter.entity_id is null then true
            else loci_internal.memory_is_related(p_memory.namespace_id, p_memory.id, p_memory.lineage_id, p_filter) end
$$;
comment on function loci_internal.memory_matches(loci_data.memories, loci_internal.memory_filter) is
    'Whether a memory passes resolved filters.';

-- The same as passes, for a memory that was changed after known_at: judged as it was believed then.
create or replace function loci_internal.memory_was_visible(p_memory loci_data.memories,
                                                            p_filter loci_internal.memory_filter) returns boolean
language plpgsql stable parallel safe
as $$
declare
    v_then loci_data.memories := loci_internal.memory_as_believed(p_memory, p_filter.known_at);
begin
    return v_then.id is not null and loci.holds_at(v_then, p_filter.as_of, null)
       and loci_internal.memory_matches(v_then, p_filter);
end $$;
comment on function loci_internal.memory_was_visible(loci_data.memories, loci_internal.memory_filter) is
    'Whether a memory, as it was believed at known_at, was visible and passes the filters.';

-- Filters as JSON and the two times, checked and resolved: unknown names are errors, an entity may be named, a subtree
-- is its node. Called once by each reading function; Errors: 22023 (unknown filter, wrong type, infinite time), P0002
-- (entity, memory).
create or replace function loci_internal.resolve_filter(
    p_namespace_id integer, p_filter jsonb, p_as_of timestamptz default null, p_known_at timestamptz default null)
returns loci_internal.memory_filter
language plpgsql stable set search_path = ''
as $$
declare
    v_unknown text;
    v_filter  loci_internal.memory_filter;
begin
    if p_filter <> '{}' then
        select key into v_unknown from jsonb_object_keys(p_filter) key
        where key not in ('category', 'tags', 'tags_all', 'layers', 'lineage', 'source', 'session_id', 'metadata',
                          'valid_after',
                          'valid_before', 'recorded_after', 'recorded_before', 'min_importance', 'min_confidence',
                          'under', 'entity', 'about', 'party');
        if found then
            raise invalid_parameter_value using message = format('unknown filter %L', v_unknown),
                column = 'filters.' || v_unknown;
        end if;
        v_filter := jsonb_populate_record(v_filter, p_filter - 'about');
        v_filter.category := rtrim(v_filter.category, '/');
    end if;
    if not (isfinite(p_as_of) and isfinite(p_known_at)) then
        raise invalid_parameter_value using message = 'as_of and known_at must be finite times',
            column = case when isfinite(p_as_of) then 'known_at' else 'as_of' end;
    end if;
    v_filter.plain := p_filter is null or p_filter = '{}';
    v_filter.as_of := coalesce(p_as_of, clock_timestamp());
    v_filter.known_at := p_known_at;
    v_filter.begun_by := case when p_known_at is null then v_filter.as_of else 'infinity' end;
    if v_filter.under is not null then
        v_filter.under := loci_internal.lineage_id_of(p_namespace_id, v_filter.under, 'filters.under');
    end if;
    if p_filter ->> 'about' is not null then
        v_filter.about := loci_internal.names_of(p_namespace_id, p_filter ->> 'about');
    end if;
    if p_filter ->> 'entity' is not null then
        v_filter.entity_id := loci_internal.entity_at_or_removed(p_namespace_id, p_filter ->> 'entity', p_known_at);
        if v_filter.entity_id is null then
            raise no_data_found using message = format('entity %L does not exist', p_filter ->> 'entity'),
                column = 'filters.entity';
        end if;
    end if;
    return v_filter;
end $$;
comment on function loci_internal.resolve_filter(integer, jsonb, timestamptz, timestamptz) is
    'JSON filters and the two times as loci_internal.memory_filter.';
