-- Edges of a namespace, of an entity or of a type, in order of discovery, a page at a time. Faded ones only when asked for
-- (row G8); each row says whether it is. As of p_as_of, by what was known at p_known_at (null: by
-- what is believed now). cursor, on every row, is what to send for the page that starts after it. Cost follows the page: see edge_page.
-- Security definer: past the policies; checks the caller itself. Errors: 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_edges(
    p_namespace text, p_entity text default null, p_type text default null, p_faded boolean default false,
    p_as_of timestamptz default null, p_limit integer default 50, p_cursor text default null,
    p_known_at timestamptz default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text, confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, fades_at timestamptz, valid_from timestamptz, valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci.authorize(p_namespace, 'reader');
    v_as_of        timestamptz := coalesce(p_as_of, clock_timestamp());
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_entity_id    uuid := (loci.resolve_entities(v_namespace_id, array_remove(array[p_entity], null), 'entity', v_known_at))[1];
    v_after        uuid;
begin
    perform loci.check_page(p_limit);
    if not isfinite(v_as_of) then
        raise invalid_parameter_value using message = 'as_of must be a finite time', column = 'as_of';
    elsif p_known_at in ('infinity', '-infinity') then
        raise invalid_parameter_value using message = 'known_at must be a finite time', column = 'known_at';
    end if;
    v_after := coalesce((loci.read_cursor(p_cursor, 'uuid'))[1]::uuid, loci.nil_uuid());
    return query select r.*, loci.make_cursor(jsonb_build_array(r.id)) from loci.edge_rows(
        v_namespace_id, loci.edge_page(v_namespace_id, v_entity_id, p_type, p_faded, v_as_of, v_known_at, v_after, p_limit),
        v_as_of, v_known_at) r order by r.id;
end $$;
comment on function loci.list_edges(text, text, text, boolean, timestamptz, integer, text, timestamptz) is 'Edges as of a moment, as known at another, oldest first, with names and effective confidence; cursor pages. Errors: 42501, P0002, 22023.';
