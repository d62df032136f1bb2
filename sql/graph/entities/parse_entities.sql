-- The entities of a write, typed and checked: names trimmed, types in their one form; one row an item, ordinal from 1.
-- Pure but for what it raises. Errors: 22023 naming the field and the value.
create or replace function loci_internal.parse_entities(p_entities jsonb)
returns table (ordinal integer, name text, canonical_name text, type text, aliases text[], description text,
               metadata jsonb, confidence double precision, seen_at timestamptz)
language plpgsql immutable parallel safe set search_path = ''
as $$
declare
    v_wrong record;
begin
    if jsonb_typeof(p_entities) is distinct from 'array' then
        raise invalid_parameter_value using message = 'entities must be a JSON array', column = 'entities';
    end if;
    return query
    select i.ordinal::integer, btrim(i.name), loci.canonical_name(i.name), loci.canonical_type(i.type), i.aliases,
           i.description,
           i.metadata, i.confidence, i.seen_at
    from rows from (jsonb_to_recordset(p_entities) as (name text, type text, aliases text[], description text,
                                                       metadata jsonb, confidence double precision,
                                                       seen_at timestamptz))
         with ordinality as i(name, type, aliases, description, metadata, confidence, seen_at, ordinal);

    select i.place - 1 as place, w.field, w.value into v_wrong
    from jsonb_array_elements(p_entities) with ordinality i(item, place)
    cross join lateral (values
        ('name', i.item ->> 'name', coalesce(length(btrim(i.item ->> 'name')) between 1 and 255
                                             and loci.canonical_name(i.item ->> 'name') <> '', false)),
        ('type', i.item ->> 'type', loci.canonical_type(i.item ->> 'type') ~ '^[a-z0-9][a-z0-9_-]{0,63}$'),
        ('aliases', i.item ->> 'aliases', i.item -> 'aliases' = 'null'
         or not (i.item @? '$.aliases[*] ? (@.type() == "null" || @ like_regex "^.{255}." flag "s")')),
        ('metadata', i.item ->> 'metadata', jsonb_typeof(i.item -> 'metadata') in ('object', 'null')),
        ('confidence', i.item ->> 'confidence', (i.item ->> 'confidence')::double precision between 0 and 1),
        ('session_id', i.item ->> 'session_id', length(i.item ->> 'session_id') between 1 and 255),
        ('seen_at', i.item ->> 'seen_at', isfinite((i.item ->> 'seen_at')::timestamptz))
    ) w(field, value, right_one)
    where not w.right_one
    order by i.place, w.field limit 1;
    if found then
        raise invalid_parameter_value using
            message = format('entities[%s].%s is not valid: %s', v_wrong.place, v_wrong.field,
                             coalesce(left(v_wrong.value, 100), 'null')),
            column = format('entities[%s].%s', v_wrong.place, v_wrong.field);
    end if;
end $$;
comment on function loci_internal.parse_entities(jsonb) is
    'JSON array of entities as typed rows; ordinal counts from 1. Errors: 22023.';

-- The aliases that an entity keeps: in order, as first written, none twice, none equal to the name itself, none empty.
-- Pure.
create or replace function loci_internal.clean_aliases(p_aliases text[], p_canonical_name text) returns text[]
language sql immutable parallel safe
as $$
    select coalesce(array_agg(a.alias order by a.place), '{}')
    from (select distinct on (loci.canonical_name(u.alias)) btrim(u.alias) as alias, u.place
          from unnest(p_aliases) with ordinality u(alias, place)
          where loci.canonical_name(u.alias) not in (p_canonical_name, '')
          order by loci.canonical_name(u.alias), u.place) a
$$;
comment on function loci_internal.clean_aliases(text[], text) is
    'Aliases without repetitions and without the canonical name.';
