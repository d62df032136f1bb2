-- The two statements that restore lines of a kind; $1 is the namespace's number, $2 the lines as a JSON array.
--   check_lines  lines that are not read as they are written (unknown, missing or ill-formed fields): row, line, read
--   write_lines  writes rows whose primary key is free, all at once; how many, and the differing lines whose key is
--            taken: row, line, here
-- The namespace of a row is $1, whatever a line says. One probe of the primary key a line. Errors: 22023 for an unknown
-- kind.
create or replace function loci_internal.restore_query(p_kind text, out check_lines text, out write_lines text)
language plpgsql stable set search_path = ''
as $$
declare
    v_source  text := (select k.source from loci_api.export_kinds() k where k.kind = p_kind);
    v_absent  text[];  -- from the file, or from comparing
    v_ignored text[];
    v_columns text;
    v_values  text;
    v_key     text;
begin
    if v_source is null then
        raise invalid_parameter_value using message = format('kind: an export has no lines of kind %L', p_kind),
            column = 'kind';
    end if;
    select array_agg(c.name) filter (where not c.in_file) || array['namespace_id'],
           array_agg(c.name) filter (where not c.in_file or c.is_settled) || array['namespace_id'],
           string_agg(quote_ident(c.name), ', ' order by c.place), string_agg(c.value, ', ' order by c.place),
           string_agg(format('t.%I = %s', c.name, c.value), ' and ' order by c.place) filter (where c.is_key)
    into v_absent, v_ignored, v_columns, v_values, v_key
    from loci_internal.export_columns(p_kind) c;
    check_lines := format($query$
        select l.row, l.line, to_jsonb(r) - %2$L::text[] as read
        from jsonb_array_elements($2) with ordinality l(line, row)
        cross join lateral jsonb_populate_record(null::loci_data.%1$I, l.line) r
        where l.line is distinct from to_jsonb(r) - %2$L::text[] order by l.row$query$, v_source, v_absent);
    write_lines := format($query$
        with item as materialized (
            select l.row, l.line, r from jsonb_array_elements($2) with ordinality l(line, row)
            cross join lateral jsonb_populate_record(null::loci_data.%1$I, l.line) r
        ), known as materialized (
            select i.row, i.line - %2$L::text[] as line, k.here - %2$L::text[] as here
            from item i cross join lateral (select (i.r).*) r
            cross join lateral (select to_jsonb(t) as here from loci_data.%1$I t where t.namespace_id = $1
                                and %5$s limit 1) k
        ), added as (
            insert into loci_data.%1$I (namespace_id, %3$s) overriding system value
            select $1, %4$s from item i cross join lateral (select (i.r).*) r
            where i.row <> all (array(select k.row from known k)) order by i.row
            returning 1
        )
        select (select count(*) from added),
               (select jsonb_agg(jsonb_build_object('row', k.row, 'line', k.line, 'here', k.here) order by k.row)
                from known k where k.here <> k.line)
        $query$, v_source, v_ignored, v_columns, v_values, v_key);
end $$;
comment on function loci_internal.restore_query(text) is
    'Statements that check and write lines of a kind. Errors: 22023.';
