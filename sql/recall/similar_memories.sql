-- Which memories mean this? Cosine similarity to a vector of the active model (nearest_memories). Security definer;
-- checks first.
create or replace function loci.similar_memories(
    p_namespace text, p_embedding real[], p_limit integer default null, p_filter jsonb default '{}',
    p_as_of timestamptz default null, p_known_at timestamptz default null)
returns table (id uuid, doc_id bigint, score double precision)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns     integer := loci_internal.authorize(p_namespace, 'reader');
    v_filter loci_internal.memory_filter := loci_internal.resolve_filter(v_ns, p_filter, p_as_of, p_known_at);
    v_limit  integer := coalesce(p_limit, (loci_internal.settings(v_ns) ->> 'depth')::integer);
begin
    return query
    select n.id, n.doc_id, n.score
    from loci_internal.nearest_memories(v_ns, p_embedding, v_filter, p_filter = '{}' and p_known_at is null,
                                        v_limit) n;
end $$;
comment on function loci.similar_memories(text, real[], integer, jsonb, timestamptz, timestamptz) is
    'Memories by cosine similarity to a vector of the active model, nearest first. Filters, as_of and known_at apply '
    'before the limit. Errors: 42501, P0002, 22023.';
