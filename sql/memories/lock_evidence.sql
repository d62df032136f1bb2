-- Before memories are noted as evidence: lock them, so that none is forgotten until the transaction ends, and say
-- which of the items names one that is forgotten: its place, from 1, and the memory. ended: those that have an end.
-- p_ids: the memory of each item, or null. As every writer: memories come before entities. A transaction that forgets
-- one at this moment is waited for. A probe of the primary key a memory.
create or replace function loci_internal.lock_evidence(p_namespace_id integer, p_ids uuid[], out place integer,
                                                       out memory_id uuid, out ended uuid[])
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_hidden uuid[];
begin
    with locked as materialized (
        select m.id, m.status, m.valid_to from loci_data.memories m
        where m.namespace_id = p_namespace_id and m.id = any (p_ids) order by m.id for share
    )
    select array_agg(l.id) filter (where l.status <> 'active'), array_agg(l.id) filter (where l.valid_to is not null)
    into v_hidden, ended from locked l;
    if v_hidden is not null then
        select u.place, u.id into place, memory_id
        from unnest(p_ids) with ordinality u(id, place) where u.id = any (v_hidden) order by u.place limit 1;
    end if;
end $$;
comment on function loci_internal.lock_evidence(integer, uuid[]) is
    'Lock memories that are given as evidence; the first item whose memory is forgotten.';
