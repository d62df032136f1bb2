-- Validity of facts: computed from their evidence, locked, and verified.

-- Bring facts in step with what was said of them: until when each holds by itself (fact_span), and which decision ends
-- it (fact_winners). p_ids: facts of which something changed, whatever it was; those that they end, or ended, are
-- looked at too. A fact that comes back, or holds longer than before, is compared with its siblings as at its write
-- (p_compare; p_since: with those alone that were recorded after it). Nothing else writes status (but for a deletion),
-- valid_to, own_to and superseded_by of a fact that is there. Aspects are locked in order of id, then facts. Returns
-- those that changed. Cost: a few look-ups a fact, and those of a write for what comes back.
create or replace function loci_internal.refold_facts(p_namespace_id integer, p_ids uuid[], p_at timestamptz,
                                                      p_compare boolean default false,
                                                      p_since timestamptz default null) returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_ids     uuid[];
    v_changed uuid[];
    v_more    uuid[];  -- of these, what holds at moments at which it did not
    v_id      uuid;
begin
    if p_ids = '{}' then
        return '{}';
    end if;
    v_ids := array(select u.id from unnest(p_ids) u(id)
                   union
                   select s.older_id from loci_data.supersessions s
                   where s.namespace_id = p_namespace_id and s.newer_id = any (p_ids) and s.status = 'applied');
    perform loci_internal.lock_facts_with_aspects(p_namespace_id, v_ids);
    update loci_data.attributes a set own_to = f.own_to, updated_at = greatest(a.updated_at, p_at)
    from unnest(v_ids) u(id) cross join lateral loci_internal.fact_span(p_namespace_id, u.id) f
    where a.namespace_id = p_namespace_id and a.id = any (v_ids) and a.id = u.id
      and a.own_to is distinct from f.own_to;
    select s.changed, s.more into v_changed, v_more
    from loci_internal.store_folded_facts(p_namespace_id, v_ids, p_at) s;
    if p_compare then
        foreach v_id in array v_more loop
            v_changed := v_changed || (select s.superseded from loci_internal.supersede_siblings(
                p_namespace_id, v_id, 'inline', null, null, p_at, p_since) s);
        end loop;
    end if;
    return v_changed;
end $$;
comment on function loci_internal.refold_facts(integer, uuid[], timestamptz, boolean, timestamptz) is
    'Bring facts in step with their memories and with the decisions about them; those that changed.';

-- Lock facts as every writer does: their aspects, then the facts, each in order of id.
create or replace function loci_internal.lock_facts_with_aspects(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile
as $$
begin
    perform from loci_data.aspects p where p.namespace_id = p_namespace_id and p.id = any (array(
        select a.aspect_id from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (p_ids)))
    order by p.id for no key update;
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (p_ids) order by a.id
        for no key update;
end $$;
comment on function loci_internal.lock_facts_with_aspects(integer, uuid[]) is
    'Lock aspects of facts, then the facts.';

-- Store status, successor and end of facts as fold_facts has them. Only rows that change: returned, and of these, what
-- holds at moments at which it did not (more). The caller has locked them.
create or replace function loci_internal.store_folded_facts(p_namespace_id integer, p_ids uuid[], p_at timestamptz,
                                                            out changed uuid[], out more uuid[])
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    with folded as materialized (
        select f.*, a.status as old_status, a.valid_to as old_to
        from loci_internal.fold_facts(p_namespace_id, p_ids) f
        join loci_data.attributes a on a.namespace_id = p_namespace_id and a.id = any (p_ids) and a.id = f.id
    ), changed as (
        update loci_data.attributes a
        set status = f.status, superseded_by = f.superseded_by, valid_to = f.valid_to,
            superseded_at = case when f.status <> 'active' then coalesce(a.superseded_at, p_at) end,
            withdrawn_at = case when f.withdrawn then coalesce(a.withdrawn_at, p_at) end,
            updated_at = greatest(a.updated_at, p_at)
        from folded f
        where a.namespace_id = p_namespace_id and a.id = any (p_ids) and a.id = f.id
          and (a.status, a.superseded_by, a.valid_to, a.withdrawn_at is not null)
              is distinct from (f.status, f.superseded_by, f.valid_to, f.withdrawn)
        returning a.id, a.kind = 'attribute' and a.status <> 'deleted' and a.valid_to is distinct from a.valid_from
                  and (f.old_status = 'deleted' or coalesce(a.valid_to, 'infinity') > coalesce(f.old_to, 'infinity'))
                  as more
    )
    select coalesce(array_agg(c.id order by c.id), '{}'),
           coalesce(array_agg(c.id order by c.id) filter (where c.more), '{}')
    into changed, more from changed c;
end $$;
comment on function loci_internal.store_folded_facts(integer, uuid[], timestamptz) is
    'Store facts as the decisions about them have them; those that changed.';

-- Until when does a fact hold by itself, whatever superseded it (own_to; equal to its valid_from: at no moment)? Until
-- the end that was stated, or that somebody gave it by hand, or that of the memory it rests on; of a memory that is
-- forgotten, or was corrected, never. over: because of its memory it is believed no more. Two look-ups. Inlines.
create or replace function loci_internal.fact_span(p_namespace_id integer, p_id uuid)
returns table (own_to timestamptz, over boolean)
language sql stable parallel safe
as $$
    select case when m.status <> 'active' or m.valid_to = m.valid_from then a.valid_from
           when coalesce(a.stated_to, a.ended_at, m.valid_to) is not null
           then greatest(a.valid_from, least(a.stated_to, a.ended_at, m.valid_to)) end,
           coalesce(m.status <> 'active' or m.superseded_at is not null or m.valid_to = m.valid_from, false)
    from loci_data.attributes a
    left join loci_data.memories m on m.namespace_id = a.namespace_id and m.id = a.memory_id
    where a.namespace_id = p_namespace_id and a.id = p_id
$$;
comment on function loci_internal.fact_span(integer, uuid) is
    'Until when a fact holds by itself and by the memory that it rests on.';

-- What are facts, by what was said of them and by the decisions that are applied? If several newer facts end one, the
-- first counts; a newer one that holds at no moment, or is deleted, ends nothing. By own_to as the rows have it. The
-- primary key, and supersessions_pair_key.
create or replace function loci_internal.fold_facts(p_namespace_id integer, p_ids uuid[])
returns table (id uuid, status text, superseded_by uuid, valid_to timestamptz, withdrawn boolean)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select a.id,
           case when a.taken_back_at is not null then 'deleted'
                when w.id is not null or a.ended_at is not null or f.over then 'superseded' else 'active' end,
           w.id, coalesce(w.at, a.own_to), f.over and a.taken_back_at is null
    from unnest(p_ids) u(id)
    cross join lateral (select x.* from loci_data.attributes x where x.namespace_id = p_namespace_id
                        and x.id = u.id limit 1) a
    cross join lateral loci_internal.fact_span(p_namespace_id, a.id) f
    left join lateral (
        select n.id, greatest(n.valid_from, a.valid_from) as at
        from loci_data.supersessions s
        cross join lateral (select x.* from loci_data.attributes x where x.namespace_id = p_namespace_id
                            and x.id = s.newer_id limit 1) n
        where a.taken_back_at is null and s.namespace_id = p_namespace_id and s.older_id = a.id
          and s.status = 'applied' and n.taken_back_at is null and n.own_to is distinct from n.valid_from
          and (a.own_to is null or a.own_to > greatest(n.valid_from, a.valid_from))
        order by n.valid_from, n.recorded_at, n.id limit 1) w on true
$$;
comment on function loci_internal.fold_facts(integer, uuid[]) is
    'Status, successor and end of facts, from what was said of them and from the decisions about them.';

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

-- Do the facts of a namespace keep their promises? facts: each has the status, the end and the successor that follow
-- from what was said of it, from its memory and from the decisions about it; so none is superseded without a reason,
-- and none that is deleted, or whose memory is forgotten, supersedes another. decisions: what is named as the successor
-- is so by an applied decision, and holds. Part of loci.verify. Reads all facts.
create or replace function loci_internal.verify_facts(p_namespace_id integer)
returns table (name text, checked bigint, broken bigint, example text)
language sql stable set search_path = ''
as $$
    with fact as materialized (
        select a.id, (a.status, a.superseded_by, a.valid_to, a.own_to)
                     is distinct from (f.status, f.superseded_by, f.valid_to, s.own_to) as differs,
               a.superseded_by is not null and not exists (
                   select from loci_data.supersessions d
                   join loci_data.attributes n on n.namespace_id = p_namespace_id and n.id = d.newer_id
                   where d.namespace_id = p_namespace_id and d.older_id = a.id and d.newer_id = a.superseded_by
                     and d.status = 'applied' and n.status <> 'deleted'
                     and n.own_to is distinct from n.valid_from) as undecided
        from loci_data.attributes a
        cross join lateral loci_internal.fact_span(p_namespace_id, a.id) s
        cross join lateral loci_internal.fold_facts(p_namespace_id, array[a.id]) f
        where a.namespace_id = p_namespace_id
    )
    select 'facts', count(*), count(*) filter (where f.differs), min(f.id::text) filter (where f.differs) from fact f
    union all
    select 'decisions', count(*), count(*) filter (where f.undecided), min(f.id::text) filter (where f.undecided)
    from fact f
$$;
comment on function loci_internal.verify_facts(integer) is
    'Promises about facts: rows checked, rows that break it, an example.';
