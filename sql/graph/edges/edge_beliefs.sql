-- Beliefs about edges: what their rows said earlier.

-- Beliefs about edges follow their evidence, now that some of it was erased: an erased memory leaves nothing behind
-- in the past either, and takes nothing from what others said. p_ids: edges whose evidence went; of a
-- type with one target at a time, all edges that their sources ever had of it are looked at. The state of each moment
-- at which evidence was recorded, withdrawn or brought back is folded anew; edges that were recorded anew since keep
-- what held until then. The caller holds the edges, and has folded those that are believed (refold_edges). Cost: a fold
-- a moment.
create or replace function loci_internal.rebuild_edge_beliefs(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_single text[] := array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id
                             and t.single_valued);
    v_group  uuid[];
begin
    update loci_data.edges e set recorded_at = f.first_at
    from (select o.edge_id as id, min(o.recorded_at) as first_at from loci_data.edge_observations o
          where o.namespace_id = p_namespace_id and o.edge_id = any (p_ids) group by o.edge_id) f
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = f.id and e.recorded_at < f.first_at;
    for v_group in
        select array[e.id] from loci_data.edges e
        where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.type <> all (v_single)
          and (exists (select from loci_data.edge_beliefs b where b.namespace_id = p_namespace_id and b.edge_id = e.id)
               or (select count(*) > 1 from loci_internal.moments_of_evidence(p_namespace_id, array[e.id])))
        union all
        select array(select r.id from loci_data.edges r where r.namespace_id = p_namespace_id
                     and r.source_id = g.source_id and r.type = g.type order by r.id)
        from (select distinct e.source_id, e.type from loci_data.edges e
              where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.type = any (v_single)) g
    loop
        perform loci_internal.rebuild_beliefs_of_rivals(p_namespace_id, v_group);
    end loop;
end $$;
comment on function loci_internal.rebuild_edge_beliefs(integer, uuid[]) is
    'Bring what was believed of edges in step with the evidence that is left.';

-- The same for edges that are folded together. An edge is known from its first evidence on, or from when it was
-- recorded anew.
create or replace function loci_internal.rebuild_beliefs_of_rivals(p_namespace_id integer, p_ids uuid[]) returns void
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_beside record;
    v_fold   record;
    v_known  timestamptz;
    v_until  timestamptz;
    v_alive  uuid[];
begin
    delete from loci_data.edge_beliefs b where b.namespace_id = p_namespace_id and b.edge_id = any (p_ids);

    for v_known, v_until in
        select m.at, lead(m.at) over (order by m.at) from loci_internal.moments_of_evidence(p_namespace_id, p_ids) m
    loop
        v_alive := array(select e.id from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (p_ids)
                         and e.recorded_at <= v_known and (e.superseded_at is null or e.superseded_at > v_known)
                         order by e.id);
        continue when v_alive = '{}';
        select coalesce(array_agg(b.older_id), '{}') as older, coalesce(array_agg(b.newer_id), '{}') as newer
        into v_beside from loci_internal.edges_beside(p_namespace_id, v_alive, v_known) b;
        v_fold := loci_internal.fold_spells(p_namespace_id, v_alive, v_beside.older, v_beside.newer, v_known);
        perform loci_internal.store_past_spells(p_namespace_id, v_alive, v_fold.starts, v_fold.spells, v_known,
                                                v_until);
    end loop;
end $$;
comment on function loci_internal.rebuild_beliefs_of_rivals(integer, uuid[]) is
    'Bring what was believed of edges that are rivals in step with the evidence that is left.';

-- When did what the evidence of edges says change, perhaps? When it was recorded, withdrawn and brought back, when what
-- was believed of its memories changed, when an
-- edge was recorded or closed, and when two were let hold beside each other. Where none states times, or there are more
-- than 300, observations count that are dated before all that were recorded before them, or state times.
create or replace function loci_internal.moments_of_evidence(p_namespace_id integer, p_ids uuid[])
returns table (at timestamptz)
language sql stable set search_path = '' set enable_seqscan = off
as $$
    with shown as materialized (
        select o.recorded_at, o.withdrawn, count(*) over () > 300 as many,
               cardinality(p_ids) = 1 and count(o.valid_from) over () + count(o.valid_to) over () = 0 as plain,
               num_nonnulls(o.valid_from, o.valid_to) > 0 or o.observed_at >= min(o.observed_at) over (
                   partition by o.edge_id order by o.recorded_at, o.id rows between unbounded preceding
                   and 1 preceding) is not true as telling
        from loci_data.edge_observations o
        where o.namespace_id = p_namespace_id and o.edge_id = any (p_ids)
    ), moment as (
        select s.recorded_at as at from shown s where s.telling or not (s.plain or s.many)
        union select lower(r) from shown s cross join lateral unnest(s.withdrawn) r
        union select upper(r) from shown s cross join lateral unnest(s.withdrawn) r
        union select b.believed_to from loci_data.edge_observations o
            cross join lateral unnest(o.memory_id || o.carried_by) u(id)
            join loci_data.memory_beliefs b on b.namespace_id = p_namespace_id and b.memory_id = u.id
            where o.namespace_id = p_namespace_id and o.edge_id = any (p_ids)
        union select e.recorded_at from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (p_ids)
        union select e.superseded_at from loci_data.edges e where e.namespace_id = p_namespace_id
            and e.id = any (p_ids)
        union select s.decided_at from loci_data.supersessions s where s.namespace_id = p_namespace_id
            and s.older_edge_id = any (p_ids) and s.status = 'undone'
    )
    select m.at from moment m where isfinite(m.at)
$$;
comment on function loci_internal.moments_of_evidence(integer, uuid[]) is
    'Moments at which what is believed of edges may have changed.';

-- Beliefs about edges between two moments of recorded time (p_until null: from then on): the belief that ends there
-- goes on where it is the same, else another begins. The last one is what the row of a closed edge says.
create or replace function loci_internal.store_past_spells(
    p_namespace_id integer, p_ids uuid[], p_starts timestamptz[], p_spells tstzmultirange[], p_known_at timestamptz,
    p_until timestamptz)
returns void
language sql volatile set search_path = '' set enable_seqscan = off
as $$
    with state as materialized (
        select u.id, coalesce(lower(u.spells), u.starts, e.valid_from) as valid_from,
               case when isempty(u.spells) then coalesce(u.starts, e.valid_from) else upper(u.spells) end as valid_to,
               case when u.spells <> tstzmultirange(range_merge(u.spells)) then u.spells end as spells,
               coalesce(e.superseded_at <= coalesce(p_until, 'infinity'), false) as closes,
               e.superseded_at is null and p_until is null as present
        from unnest(p_ids, p_starts, p_spells) u(id, starts, spells)
        cross join lateral (select x.* from loci_data.edges x where x.namespace_id = p_namespace_id and x.id = u.id
                            limit 1) e
        where u.starts is not null or exists (select from loci_data.edge_observations o
                                              where o.namespace_id = p_namespace_id and o.edge_id = u.id)
    ), before as materialized (  -- the belief that ends where this one begins
        select s.id, b.believed_to, (b.valid_from, b.valid_to, b.spells)
               is not distinct from (s.valid_from, s.valid_to, s.spells) as same
        from state s
        join loci_data.edge_beliefs b on b.namespace_id = p_namespace_id and b.edge_id = s.id
             and b.believed_to = p_known_at
    ), goes_on as (
        update loci_data.edge_beliefs b set believed_to = p_until
        from before f join state s on s.id = f.id
        where f.same and not s.closes and not s.present and b.namespace_id = p_namespace_id and b.edge_id = f.id
          and b.believed_to = p_known_at
    ), merged as (  -- it is what the row says: no belief of the past
        delete from loci_data.edge_beliefs b using before f, state s
        where f.same and (s.closes or s.present) and s.id = f.id and b.namespace_id = p_namespace_id
          and b.edge_id = f.id and b.believed_to = p_known_at
    ), begun as (
        insert into loci_data.edge_beliefs (namespace_id, edge_id, valid_from, valid_to, spells, believed_at,
                                            believed_to)
        select p_namespace_id, s.id, s.valid_from, s.valid_to, s.spells, p_known_at, p_until
        from state s left join before f on f.id = s.id
        where not s.present and not s.closes and f.same is not true
    )
    update loci_data.edges e set valid_from = s.valid_from, valid_to = s.valid_to, spells = s.spells
    from state s
    where s.closes and e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = s.id
      and (e.valid_from, e.valid_to, e.spells) is distinct from (s.valid_from, s.valid_to, s.spells)
$$;
comment on function loci_internal.store_past_spells(integer, uuid[], timestamptz[], tstzmultirange[], timestamptz,
                                                    timestamptz) is
    'Store what edges were believed to hold between two moments of recorded time.';

-- Trigger: before the spells of an edge change, what was believed until now is kept, so that known_at can be answered
-- for every moment. The change's own time, updated_at, ends the old belief; what was believed for no time is none, and
-- what follows from erasing was never otherwise. One probe of the primary key of edge_beliefs.
create or replace function loci_internal.archive_edge_belief() returns trigger
language plpgsql volatile security definer set search_path = ''
as $$
declare
    v_since timestamptz := coalesce((select max(b.believed_to) from loci_data.edge_beliefs b
                                     where b.namespace_id = old.namespace_id and b.edge_id = old.id), old.recorded_at);
begin
    if new.updated_at = v_since or current_setting('loci.erasing', true) = 'on' then
        return new;
    end if;
    new.updated_at := greatest(new.updated_at, v_since + interval '1 microsecond');
    insert into loci_data.edge_beliefs (namespace_id, edge_id, valid_from, valid_to, spells, believed_at, believed_to)
    values (old.namespace_id, old.id, old.valid_from, old.valid_to, old.spells, v_since, new.updated_at);
    return new;
end $$;
comment on function loci_internal.archive_edge_belief() is
    'Trigger: keep the ending belief about an edge''s spells in edge_beliefs.';

-- Nothing that was once believed of the graph is lost when it changes. Counters are not beliefs: they are present
-- figures.
create or replace trigger edges_belief before update on loci_data.edges
    for each row
        when ((old.valid_from, old.valid_to, old.spells) is distinct from (new.valid_from, new.valid_to, new.spells))
    execute function loci_internal.archive_edge_belief();
