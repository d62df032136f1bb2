-- Lock what decisions about facts rest on, and say whether it still stands: the lineages that get a version (in order
-- of name, as remember locks them), then the memories named, also those to be linked (in order of id). False: someone
-- ended or erased one since it was read, so decide again. p_at: the moment that they must be valid at (null: now). A
-- memory without a named lineage gets its row of lineages here, as remember would make it.
create or replace function loci_internal.lock_facts(p_namespace_id integer, p_decisions loci_api.fact_decision[],
                                                    p_at timestamptz) returns boolean
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_targets  uuid[] := array(select d.target_id from unnest(p_decisions) d where d.target_id is not null
                            union select (l.value ->> 'target_id')::uuid from unnest(p_decisions) d
                                cross join lateral jsonb_array_elements(d.links) l
                            where d.action <> 'nothing' and l.value ->> 'target_id' is not null order by 1);
    v_lineages text[] := array(select distinct d.lineage from unnest(p_decisions) d where d.target_id is not null
                               and d.action = 'update' order by 1);
    v_standing bigint;
begin
    insert into loci_data.lineages as l (namespace_id, lineage, id, versions)
    select p_namespace_id, u.lineage, o.target_id, 0 from unnest(v_lineages) u(lineage)
    cross join lateral (select d.target_id from unnest(p_decisions) d where d.lineage = u.lineage
                        and d.target_id is not null order by d.ordinal limit 1) o
    order by u.lineage
    on conflict (namespace_id, lineage) do update set versions = l.versions;
    update loci_data.lineages l set id = m.lineage_id, versions = m.version, written_at = m.recorded_at
    from unnest(v_lineages) u(lineage)
    cross join lateral (select o.lineage_id, o.version, o.recorded_at from loci_data.memories o
                        where o.namespace_id = p_namespace_id and o.lineage = u.lineage
                        order by o.version desc limit 1) m
    where l.namespace_id = p_namespace_id and l.lineage = u.lineage and l.versions = 0;
    -- erased meanwhile
    delete from loci_data.lineages l where l.namespace_id = p_namespace_id and l.lineage = any (v_lineages)
        and l.versions = 0;

    perform from loci_data.memories m where m.namespace_id = p_namespace_id and m.id = any (v_targets) order by m.id
        for no key update;
    select count(*) into v_standing from loci_data.memories m
    where m.namespace_id = p_namespace_id and m.id = any (v_targets) and m.status = 'active' and m.valid_to
        is distinct from m.valid_from
      and (m.valid_to is null or m.valid_to > coalesce(p_at, clock_timestamp()));
    return v_standing = cardinality(v_targets);
end $$;
comment on function loci_internal.lock_facts(integer, loci_api.fact_decision[], timestamptz) is
    'Lock what decisions rest on; whether it still stands.';
