-- The next lines of a kind in an export (row X6), joined by newlines: rows of them, at most 1,000 and about p_bytes, and the position after
-- the last one, to be given for the next page; no rows: the kind is done. Every page in one snapshot makes a consistent export.
-- Cost: an index range; rows are read one by one until the page is full, so memory stays flat. Admin.
-- Security definer: reads tables of every kind. Called by service/transfer/export.py. Errors: 42501, P0002, 22023.
create or replace function loci.export_page(p_namespace text, p_kind text, p_after jsonb default null, p_bytes integer default 1048576)
returns table (lines text, rows integer, last jsonb)
language plpgsql stable security definer set search_path = '' set timezone = 'UTC' set extra_float_digits = 1
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    v_ns    integer := loci.authorize(p_namespace, 'admin');
    v_row   record;
    v_lines text[] := '{}';
    v_bytes bigint := 0;
begin
    for v_row in execute loci.export_query(p_kind) using v_ns, p_after loop
        v_lines := array_append(v_lines, v_row.line);
        v_bytes := v_bytes + octet_length(v_row.line);
        last := v_row.position;
        exit when v_bytes >= p_bytes;
    end loop;
    lines := array_to_string(v_lines, E'\n');
    rows := cardinality(v_lines);
    return next;
end $$;
comment on function loci.export_page(text, text, jsonb, integer) is 'A page of lines of an export: kind, position after which to begin, size. Admin. Errors: 42501, P0002, 22023.';
