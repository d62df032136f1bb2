-- Which edges held at a moment, by what was known at another? For analysts: list_edges with the times first. Rows,
-- order, pages and checks are list_edges'. p_known_at null: by what is believed now.
create or replace function loci.edges_as_of(
    p_namespace text, p_as_of timestamptz, p_known_at timestamptz default null, p_faded boolean default false,
    p_limit integer default 1000, p_cursor text default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, restored_at timestamptz, fades_at timestamptz, valid_from timestamptz,
               valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text, cursor text)
language sql stable
as $$
    select e.* from loci.list_edges(p_namespace, null, null, p_faded, p_as_of, p_limit, p_cursor, p_known_at) e
$$;
comment on function loci.edges_as_of(text, timestamptz, timestamptz, boolean, integer, text) is
    'Edges as of a moment, as known at another; faded ones on request; cursor pages of up to 1,000. Errors: 42501, '
    'P0002, 22023.';
