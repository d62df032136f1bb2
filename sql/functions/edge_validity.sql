-- From when and until when was an edge valid, as believed at a moment? The first belief that ended after it, else what the edge
-- says now (p_valid_from, p_valid_to). known_at infinity is the present belief, and reads nothing. Inlines.
-- Primary key of edge_beliefs. Called by worth_then and edge_rows; internal.
create or replace function loci.edge_validity(p_namespace_id integer, p_edge_id uuid, p_valid_from timestamptz, p_valid_to timestamptz,
                                              p_known_at timestamptz)
returns table (valid_from timestamptz, valid_to timestamptz)
language sql stable parallel safe
as $$
    select coalesce(b.valid_from, p_valid_from), case when b.valid_from is null then p_valid_to else b.valid_to end
    from (select) nothing
    left join lateral (
        select k.valid_from, k.valid_to from loci_data.edge_beliefs k
        where p_known_at < 'infinity' and k.namespace_id = p_namespace_id and k.edge_id = p_edge_id and k.believed_to > p_known_at
        order by k.believed_to limit 1) b on true
$$;
comment on function loci.edge_validity(integer, uuid, timestamptz, timestamptz, timestamptz) is 'Validity of an edge as believed at a moment. Internal.';
