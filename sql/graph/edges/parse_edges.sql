-- The edges of a write, typed and checked, with the defaults of an observation: one element an item, ordinal from 1.
-- seen_at is what the item says of when it dates from; ids are in the order of the items. The JSON is read once, here;
-- everything after works on typed rows. Errors: 22023 naming the field and the value.
create or replace function loci_internal.parse_edges(p_edges jsonb, p_at timestamptz) returns loci_internal.edge_input[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_items loci_internal.edge_input[];
    v_wrong record;
    v_value text;
begin
    if jsonb_typeof(p_edges) is distinct from 'array' then
        raise invalid_parameter_value using message = 'edges must be a JSON array', column = 'edges';
    end if;
    select array_agg((i.ordinal, btrim(i.source), i.source_type, loci.canonical_type(i.type), btrim(i.target),
                      i.target_type, i.literal, btrim(i.aspect), i.confidence,
                      i.strength, i.session_id, i.memory_id, coalesce(i.observed_at, p_at), i.valid_from, i.valid_to,
                      nullif(i.metadata, 'null'),
                      least(i.observed_at, i.valid_from),
                      null, null, null, loci_api.uuid7())::loci_internal.edge_input order by i.ordinal) into v_items
    from rows from (jsonb_to_recordset(p_edges) as (
             source text, source_type text, type text, target text, target_type text, literal text, aspect text,
             confidence double precision,
             strength double precision, session_id text, memory_id uuid, observed_at timestamptz,
             valid_from timestamptz,
             valid_to timestamptz, metadata jsonb))
         with ordinality as i(source, source_type, type, target, target_type, literal, aspect, confidence, strength,
                              session_id, memory_id,
                              observed_at, valid_from, valid_to, metadata, ordinal);

    select i.ordinal - 1 as place, w.field into v_wrong
    from unnest(v_items) i
    cross join lateral (select case
        when i.confidence < 0 or i.confidence > 1 then 'confidence'
        when length(i.literal) not between 1 and 1000 then 'literal'
        when jsonb_typeof(i.metadata) <> 'object' then 'metadata'
        when not isfinite(i.observed_at) then 'observed_at'
        when length(i.session_id) not between 1 and 255 then 'session_id'
        when length(i.source) between 1 and 255 is not true then 'source'
        when i.strength < 0 or i.strength > 1 then 'strength'
        when num_nonnulls(i.target, i.literal) <> 1 or length(i.target) not between 1 and 255 then 'target'
        when length(i.type) between 1 and 128 is not true then 'type'
        when not isfinite(i.valid_from) then 'valid_from'
        when not isfinite(i.valid_to) or i.valid_to < i.valid_from then 'valid_to'
        when length(i.aspect) not between 1 and 255 or loci.canonical_name(i.aspect) = '' then 'aspect' end) w(field)
    where w.field is not null
    order by i.ordinal limit 1;
    if found then
        v_value := p_edges -> v_wrong.place ->> v_wrong.field;
        if v_wrong.field = 'target' then
            v_value := coalesce(v_value, p_edges -> v_wrong.place ->> 'literal');
        end if;
        raise invalid_parameter_value using
            message = format('edges[%s].%s is not valid: %s%s', v_wrong.place, v_wrong.field,
                             coalesce(left(v_value, 100), 'null'),
                             case when v_wrong.field = 'valid_to' and isfinite(v_value::timestamptz)
                                 then format('; it must not be before valid_from, which is %s',
                                             p_edges -> v_wrong.place ->> 'valid_from') end),
            column = format('edges[%s].%s', v_wrong.place, v_wrong.field);
    end if;
    return coalesce(v_items, '{}');
end $$;
comment on function loci_internal.parse_edges(jsonb, timestamptz) is
    'JSON array of edges as typed rows; ordinal counts from 1. Errors: 22023.';
