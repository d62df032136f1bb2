-- How many memories may end by a model's word at once? dream_removed_share of those that are current. Reads the
-- namespace's memories once. Security definer: past the policies; checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.removable_memories(p_namespace text) returns bigint
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return loci_internal.removal_limit(v_ns,
                                       (loci_internal.settings(v_ns) ->> 'dream_removed_share')::double precision,
                                       loci_internal.count_current_memories(v_ns));
end $$;
comment on function loci_api.removable_memories(text) is
    'How many memories a model may end at once. Errors: 42501, P0002.';

-- How many memories of a namespace hold now? Reads them once.
create or replace function loci_internal.count_current_memories(p_namespace_id integer) returns bigint
language plpgsql stable set search_path = ''
as $$
declare
    v_now timestamptz := clock_timestamp();
begin
    return (select count(*) from loci_data.memories m
            where m.namespace_id = p_namespace_id and loci.holds_at(m, v_now, null));
end $$;
comment on function loci_internal.count_current_memories(integer) is
    'How many memories of a namespace hold now.';

-- How many of p_of things may a model remove? Their share, rounded down: of ten things at 10 % one, of nine none. More
-- is a mistake of the model or of what it was shown, and the pass applies nothing. p_of counts what is current and in
-- force when the pass applies. Errors: 22023 (a share outside of 0 to 1).
create or replace function loci_internal.removal_limit(p_namespace_id integer, p_share double precision, p_of bigint)
returns bigint
language plpgsql immutable set search_path = ''
as $$
begin
    if p_share is null or not (p_share between 0 and 1) then
        raise invalid_parameter_value using column = 'dream_removed_share',
            message = format('dream_removed_share must be between 0 and 1, not %s', p_share);
    end if;
    return floor(p_share::numeric * greatest(coalesce(p_of, 0), 0))::bigint;  -- numeric: 0.1 of 10 is 1
end $$;
comment on function loci_internal.removal_limit(integer, double precision, bigint) is
    'How many of so many things a pass may remove.';

-- How many of p_of memories, edges or entities may a pass remove? Their share (removal_limit), and where that is less a
-- few (dream_removed_few), but of these at most half. A share of 0 allows none.
create or replace function loci_internal.removal_allowance(p_namespace_id integer, p_of bigint) returns bigint
language sql stable set search_path = ''
as $$
    select case when s.share = 0 then 0
                else greatest(loci_internal.removal_limit(p_namespace_id, s.share, p_of),
                              least(s.few, (greatest(p_of, 0) + 1) / 2)) end
    from (select (t ->> 'dream_removed_share')::double precision as share, (t ->> 'dream_removed_few')::bigint as few
          from loci_internal.settings(p_namespace_id) t) s
$$;
comment on function loci_internal.removal_allowance(integer, bigint) is
    'How many of so many things of a namespace a pass may remove.';

-- How many memories, edges and entities may a pass remove now? Of the memories that are current, the edges that are
-- believed, and the entities that are there. Reads the namespace's rows once. Security definer: past the policies;
-- checks the caller itself. Errors: 42501, P0002.
create or replace function loci_api.removal_allowances(p_namespace text)
returns table (memories bigint, edges bigint, entities bigint)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_ns integer := loci_internal.authorize(p_namespace, 'reader');
begin
    return query
    select loci_internal.removal_allowance(v_ns, loci_internal.count_current_memories(v_ns)),
           loci_internal.removal_allowance(v_ns, (
               select count(*) from loci_data.edges e where e.namespace_id = v_ns and e.superseded_at is null)),
           loci_internal.removal_allowance(v_ns, (
               select count(*) from loci_data.entities e where e.namespace_id = v_ns and e.merged_into is null));
end $$;
comment on function loci_api.removal_allowances(text) is
    'How many memories, edges and entities a pass may remove now. Errors: 42501, P0002.';
