-- The edges of a write, typed and checked, with the defaults of an observation: one row an item, ordinal from 1.
-- Called by add_edges and reinforce_edges. Errors: 22023 naming the field and the value.
create or replace function loci.parse_edges(p_edges jsonb, p_at timestamptz)
returns table (ordinal integer, source_id uuid, type text, target_id uuid, literal text, confidence double precision,
               strength double precision, session_id text, memory_id uuid, observed_at timestamptz, valid_from timestamptz,
               valid_to timestamptz, metadata jsonb)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_wrong record;
begin
    select i.place - 1 as place, w.field, w.value into v_wrong
    from jsonb_array_elements(p_edges) with ordinality i(item, place)
    cross join lateral (values
        ('source', i.item ->> 'source_id', i.item ->> 'source_id' is not null),
        ('type', i.item ->> 'type', coalesce(length(btrim(i.item ->> 'type')) between 1 and 128, false)),
        ('target', coalesce(i.item ->> 'target_id', i.item ->> 'literal'), num_nonnulls(i.item ->> 'target_id', i.item ->> 'literal') = 1),
        ('literal', i.item ->> 'literal', length(i.item ->> 'literal') between 1 and 1000),
        ('confidence', i.item ->> 'confidence', (i.item ->> 'confidence')::double precision between 0 and 1),
        ('strength', i.item ->> 'strength', (i.item ->> 'strength')::double precision between 0 and 1),
        ('metadata', i.item ->> 'metadata', jsonb_typeof(i.item -> 'metadata') in ('object', 'null')),
        ('observed_at', i.item ->> 'observed_at', isfinite((i.item ->> 'observed_at')::timestamptz))
    ) w(field, value, right_one)
    where not w.right_one
    order by i.place, w.field limit 1;
    if found then
        raise invalid_parameter_value using
            message = format('edges[%s].%s is not valid: %s', v_wrong.place, v_wrong.field, coalesce(left(v_wrong.value, 100), 'null')),
            column = format('edges[%s].%s', v_wrong.place, v_wrong.field);
    end if;

    return query
    select i.ordinal::integer, i.source_id, btrim(i.type), i.target_id, i.literal, coalesce(i.confidence, 1.0), i.strength,
           i.session_id, i.memory_id, coalesce(i.observed_at, p_at), i.valid_from, i.valid_to,
           case when jsonb_typeof(i.metadata) = 'object' then i.metadata end
    from rows from (jsonb_to_recordset(p_edges) as (
             source_id uuid, type text, target_id uuid, literal text, confidence double precision, strength double precision,
             session_id text, memory_id uuid, observed_at timestamptz, valid_from timestamptz, valid_to timestamptz, metadata jsonb))
         with ordinality as i(source_id, type, target_id, literal, confidence, strength, session_id, memory_id, observed_at,
                              valid_from, valid_to, metadata, ordinal);
end $$;
comment on function loci.parse_edges(jsonb, timestamptz) is 'JSON array of edges with resolved ids as typed rows; ordinal counts from 1. Errors: 22023.';
