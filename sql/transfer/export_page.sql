-- The next lines of a kind in an export, joined by newlines: rows of them, at most 1,000 and about p_bytes, and the
-- position after the last one, to be given for the next page; no rows: the kind is done. Every page in one snapshot
-- makes a consistent export. Cost: an index range; rows are read one by one until the page is full, so memory stays
-- flat. Admin. Security definer: reads tables of every kind. Errors: 42501, P0002, 22023.
create or replace function loci_api.export_page(p_namespace text, p_kind text, p_after jsonb default null,
                                                p_bytes integer default 1048576)
returns table (lines text, rows integer, last jsonb)
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    v_ns    integer := loci_internal.authorize(p_namespace, 'admin');
    v_row   record;
    v_lines text[] := '{}';
    v_bytes bigint := 0;
begin
    for v_row in execute loci_internal.export_query(p_kind) using v_ns, p_after loop
        v_lines := array_append(v_lines, v_row.line);
        v_bytes := v_bytes + octet_length(v_row.line);
        last := v_row.position;
        exit when v_bytes >= p_bytes;
    end loop;
    lines := array_to_string(v_lines, E'\n');
    rows := cardinality(v_lines);
    return next;
end $$;
comment on function loci_api.export_page(text, text, jsonb, integer) is
    'A page of lines of an export: kind, position after which to begin, size. Admin. Errors: 42501, P0002, 22023.';

-- The statement that reads lines of a kind: $1 the namespace's number, $2 the position after which to begin (null: the
-- start). Its rows are (line, position), in the kind's order; fields stand in the order of the columns. A range of the
-- index that has that order. Vectors are those of the active model. Errors: 22023 for an unknown kind.
create or replace function loci_internal.export_query(p_kind text) returns text
language plpgsql stable set search_path = ''
as $$
declare
    v_query text;
begin
    if p_kind = 'vector' then
        return $query$
            select format('{"kind":"vector","memory_id":"%s","embedding":%s}', v.memory_id, v.embedding) as line,
                   jsonb_build_object('memory_id', v.memory_id) as position
            from loci_data.memory_vectors v
            where v.namespace_id = $1 and v.model_id = (select m.id from loci_data.embedding_models m where m.active)
              and ($2 is null or v.memory_id > ($2 ->> 'memory_id')::uuid)
            order by v.memory_id limit 1000$query$;
    end if;
    select format($query$
            select (select row_to_json(l) from (select %L as kind, %s) l)::text as line,
                   jsonb_build_object(%s) as position
            from loci_data.%I t
            where t.namespace_id = $1 and ($2 is null or (%s) > (%s))
            order by %s limit 1000$query$,
           p_kind, (select string_agg(format('t.%I as %I', c.name, c.field), ', ' order by c.place)
                    from loci_internal.export_columns(p_kind) c where c.in_file),
           string_agg(format('%L, t.%I', c.name, c.name), ', ' order by o.place), k.source,
           string_agg(format('t.%I', c.name), ', ' order by o.place),
           string_agg(format('($2 ->> %L)::%s', c.name, c.type), ', ' order by o.place),
           string_agg(format('t.%I', c.name), ', ' order by o.place)) into v_query
    from loci_api.export_kinds() k
    cross join lateral unnest(coalesce(k.ordering,
                                       (select array_agg(c.name
                                                         order by array_position(i.indkey::smallint[],
                                                             c.place::smallint))
                                                    from loci_internal.export_columns(p_kind) c, pg_catalog.pg_index i
                                                    where c.is_key and i.indisprimary
                                                      and i.indrelid = format('loci_data.%I', k.source)::regclass)))
               with ordinality o(name, place)
    join loci_internal.export_columns(p_kind) c on c.name = o.name
    where k.kind = p_kind
    group by k.source;
    if v_query is null then
        raise invalid_parameter_value using message = format('an export has no lines of kind %L', p_kind),
            column = 'kind';
    end if;
    return v_query;
end $$;
comment on function loci_internal.export_query(text) is
    'Statement that reads lines of a kind for an export. Errors: 22023.';
