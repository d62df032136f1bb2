-- The statement that reads lines of a kind: $1 the namespace's number, $2 the position after which to begin (null: the start). Its rows
-- are (line, position), in the kind's order; fields stand in the order of the columns. A range of the index that has that order.
-- Vectors are those of the active model. Called by export_page; internal. Errors: 22023 for an unknown kind.
create or replace function loci.export_query(p_kind text) returns text
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
            select (select row_to_json(l) from (select %L as kind, %s) l)::text as line, jsonb_build_object(%s) as position
            from loci_data.%I t
            where t.namespace_id = $1 and ($2 is null or (%s) > (%s))
            order by %s limit 1000$query$,
           p_kind, (select string_agg(format('t.%I as %I', c.name, c.field), ', ' order by c.place) from loci.export_columns(p_kind) c where c.in_file),
           string_agg(format('%L, t.%I', c.name, c.name), ', ' order by o.place), k.source,
           string_agg(format('t.%I', c.name), ', ' order by o.place),
           string_agg(format('($2 ->> %L)::%s', c.name, c.type), ', ' order by o.place),
           string_agg(format('t.%I', c.name), ', ' order by o.place)) into v_query
    from loci.export_kinds() k
    cross join lateral unnest(coalesce(k.ordering, (select array_agg(c.name order by array_position(i.indkey::smallint[], c.place::smallint))
                                                    from loci.export_columns(p_kind) c, pg_catalog.pg_index i
                                                    where c.is_key and i.indisprimary
                                                      and i.indrelid = format('loci_data.%I', k.source)::regclass)))
               with ordinality o(name, place)
    join loci.export_columns(p_kind) c on c.name = o.name
    where k.kind = p_kind
    group by k.source;
    if v_query is null then
        raise invalid_parameter_value using message = format('%L is no kind of line in an export', p_kind), column = 'kind';
    end if;
    return v_query;
end $$;
comment on function loci.export_query(text) is 'Statement that reads lines of a kind for an export. Errors: 22023. Internal.';
