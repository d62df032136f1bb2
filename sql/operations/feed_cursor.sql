-- Cursors of the change feed: what a reader has read, by namespace.

-- The place that a change had here of a namespace that has moved to another cell since: a reader of all namespaces goes
-- on behind it. Null for any other, and for one before the last 10,000. Asked only where no feed has the token; reads a
-- row a move. Called with the owner's rights.
create or replace function loci_internal.departed_place(p_token text, p_position bigint) returns bigint
language sql stable set search_path = ''
as $$
    select m.places[cardinality(m.places) - (m.last_position - p_position)::integer]
    from loci_data.namespace_moves m
    where m.token = p_token and p_position between m.last_position - cardinality(m.places) + 1 and m.last_position
      and (loci_internal.is_operator()
           or exists (select from loci_data.grants g
                      where g.namespace_id = m.namespace_id and g.agent_id = loci.current_agent()
                        and (g.expires_at is null or g.expires_at > clock_timestamp())
                        and loci_internal.key_reaches(m.namespace_id)))
$$;
comment on function loci_internal.departed_place(text, bigint) is
    'The place that a change had of a namespace that has moved away.';
