-- How many tokens have the names that begin with these heads? Reads index entity_names_head alone, in its order: one probe a head,
-- and neighbouring heads share a page. A scan that finds 2,000 names stops: the head where it stands is asked which lengths it has, one
-- probe a length, and the scan goes on behind it; after four such stops all heads are asked so. So a name costs nothing, however
-- many others begin like it. PostgreSQL 16, which would sort all rows first, asks every head. Called by name_phrases; internal.
create or replace function loci.name_lengths(p_namespace_id integer, p_heads integer[])
returns table (head integer, tokens integer)
language plpgsql stable parallel safe set search_path = '' set plan_cache_mode = force_generic_plan
set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    v_most   constant integer := 2000;
    v_rounds integer := case when current_setting('server_version_num')::integer >= 170000 then 4 else 0 end;
    v_rest   integer[] := p_heads;
    v_asked  integer[] := '{}';
    v_heads  integer[];
    v_tokens integer[];
begin
    while v_rounds > 0 and cardinality(v_rest) > 0 loop
        select array_agg(k.head), array_agg(k.tokens) into v_heads, v_tokens
        from (select n.head, n.tokens from loci_data.entity_names n
              where n.namespace_id = p_namespace_id and n.head = any (v_rest) order by n.head limit v_most) k;
        return query select distinct u.head, u.tokens from unnest(v_heads, v_tokens) u(head, tokens);
        if coalesce(cardinality(v_heads), 0) < v_most then
            v_rest := '{}';
        else
            v_asked := v_asked || v_heads[v_most];
            v_rest := array(select u from unnest(v_rest) u where u > v_heads[v_most]);
        end if;
        v_rounds := v_rounds - 1;
    end loop;
    v_asked := v_asked || v_rest;
    if cardinality(v_asked) > 0 then
        return query
        with recursive length as (
            select h.head, (select n.tokens from loci_data.entity_names n
                            where n.namespace_id = p_namespace_id and n.head = h.head order by n.tokens limit 1) as tokens
            from (select distinct u.head from unnest(v_asked) u(head)) h
            union all
            select l.head, (select n.tokens from loci_data.entity_names n
                            where n.namespace_id = p_namespace_id and n.head = l.head and n.tokens > l.tokens order by n.tokens limit 1)
            from length l where l.tokens is not null
        )
        select l.head, l.tokens::integer from length l where l.tokens is not null;
    end if;
end $$;
comment on function loci.name_lengths(integer, integer[]) is 'Numbers of tokens that names with these heads have; a pair may come twice. Internal.';
