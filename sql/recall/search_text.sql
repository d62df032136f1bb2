-- Which memories say this, in words? Exact BM25 over the terms of the question, OR-ed (rank_text). Security definer
-- (row-level security keeps planner from good plans); checks first.
create or replace function loci.search_text(
    p_namespace text, p_query text, p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
begin
    return query select r.id, r.doc_id, r.score from loci_internal.rank_text(v_ns, p_query, v_filter, v_limit) r;
end $$;
comment on function loci.search_text(text, text, integer, jsonb, timestamptz, timestamptz) is
    'Memories by exact BM25 over the question''s terms (OR), best first. Filters, as_of and known_at apply before the '
    'limit. Errors: 42501, P0002, 22023.';
