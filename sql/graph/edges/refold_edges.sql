-- Bring edges in step with their evidence: figures and spells as edge_figures and fold_spells have them. All believed
-- edges of a source are folded together where the type has one target at a time, so p_ids may hold edges that are gone
-- or no longer believed. Edges whose evidence is all withdrawn hold at no moment; those that never had any stay as they
-- are. The caller holds the locks of the sources; edges are locked here, in order of id. Returns the supersessions that
-- came of it. Cost follows the evidence of the edges.
create or replace function loci_internal.refold_edges(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_single text[] := array(select t.type from loci_data.edge_types t where t.namespace_id = p_namespace_id
                             and t.single_valued);
    v_ids    uuid[] := array(select e.id from loci_data.edges e where e.namespace_id = p_namespace_id
                             and e.id = any (p_ids) and e.superseded_at is null and e.type <> all (v_single)
                             order by e.id);
    v_fold   record;
    v_made   uuid[] := '{}';
begin
    if v_ids <> '{}' then
        perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (v_ids) order by e.id
            for no key update;
        select array_agg(f.starts[1] order by u.place) as starts, array_agg(f.spells[1] order by u.place) as spells
        into v_fold
        from unnest(v_ids) with ordinality u(id, place)
        cross join lateral loci_internal.fold_spells(p_namespace_id, array[u.id], '{}', '{}') f;
        perform loci_internal.store_folded_edges(p_namespace_id, v_ids, v_fold.starts, v_fold.spells, p_at);
    end if;
    if v_single <> '{}' then
        for v_ids in select loci_internal.rival_edges(p_namespace_id, g.source_id, g.type)
                     from (select distinct e.source_id, e.type from loci_data.edges e
                           where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.type = any (v_single)) g
                     order by g.source_id, g.type loop
            v_made := v_made || loci_internal.refold_rivals(p_namespace_id, v_ids, p_at);
        end loop;
    end if;
    return v_made;
end $$;
comment on function loci_internal.refold_edges(integer, uuid[], timestamptz) is
    'Bring figures and spells of edges, and of their rivals, in step with the evidence; supersessions that came of it.';

-- Believed edges of a source and type, in order of id. Indexes edges_triple, edges_literal.
create or replace function loci_internal.rival_edges(p_namespace_id integer, p_source_id uuid, p_type text)
returns uuid[]
language sql stable set search_path = '' set enable_seqscan = off
as $$
    select coalesce(array_agg(e.id order by e.id), '{}') from (
        select i.id from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = p_source_id
            and i.type = p_type and i.target_id is not null and i.superseded_at is null
        union all
        select i.id from loci_data.edges i where i.namespace_id = p_namespace_id and i.source_id = p_source_id
            and i.type = p_type and i.literal is not null and i.superseded_at is null) e
$$;
comment on function loci_internal.rival_edges(integer, uuid, text) is
    'Ids of the believed edges of a source and type.';

-- Bring edges that are rivals, because their type has one target at a time, in step with the evidence of all of them.
-- Returns the supersessions that came of it.
create or replace function loci_internal.refold_rivals(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = '' set enable_seqscan = off
as $$
declare
    v_beside record;
    v_fold   record;
begin
    perform from loci_data.edges e where e.namespace_id = p_namespace_id and e.id = any (p_ids) order by e.id
        for no key update;
    select coalesce(array_agg(b.older_id), '{}') as older, coalesce(array_agg(b.newer_id), '{}') as newer into v_beside
    from loci_internal.edges_beside(p_namespace_id, p_ids) b;
    v_fold := loci_internal.fold_spells(p_namespace_id, p_ids, v_beside.older, v_beside.newer);
    perform loci_internal.store_folded_edges(p_namespace_id, p_ids, v_fold.starts, v_fold.spells, p_at);
    return loci_internal.record_edge_supersessions(p_namespace_id, p_ids, v_fold.older, v_fold.newer, v_fold.ended_at,
                                                   p_at);
end $$;
comment on function loci_internal.refold_rivals(integer, uuid[], timestamptz) is
    'Bring edges of a type with one target at a time in step with their evidence; supersessions that came of it.';

-- Store what the evidence of edges adds up to: their spells (p_starts: where there is none, when it would have begun;
-- null: no evidence; if it was withdrawn, the edge holds at no moment), and their figures. Only rows that change.
create or replace function loci_internal.store_folded_edges(
    p_namespace_id integer, p_ids uuid[], p_starts timestamptz[], p_spells tstzmultirange[], p_at timestamptz)
returns void
language plpgsql volatile set search_path = '' set plan_cache_mode = force_generic_plan set enable_nestloop = off
set enable_seqscan = off
as $$
declare
    v_rates record := loci_internal.lock_decay_rates(p_namespace_id);
begin
    with folded as materialized (
        select u.id, f.*, coalesce(lower(u.spells), u.starts) as valid_from,
               case when isempty(u.spells) then u.starts else upper(u.spells) end as valid_to,
               case when u.spells <> tstzmultirange(range_merge(u.spells)) then u.spells end as spells
        from unnest(p_ids, p_starts, p_spells) u(id, starts, spells)
        cross join lateral loci_internal.edge_figures(p_namespace_id, u.id, 'infinity', 'infinity') f
        where u.starts is not null
    )
    update loci_data.edges e
    set confidence = f.confidence, initial_confidence = f.initial_confidence, observations = f.observations,
        first_observed_at = f.first_observed_at, last_observed_at = f.last_observed_at, restored_at = f.restored_at,
        fades_at = loci.fades_at(f.confidence, coalesce((v_rates.rates ->> e.type)::double precision, v_rates.rate),
                                 f.restored_at, v_rates.threshold),
        valid_from = f.valid_from, valid_to = f.valid_to, spells = f.spells, updated_at = greatest(e.updated_at, p_at)
    from folded f
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = f.id
      and (e.confidence, e.initial_confidence, e.observations, e.first_observed_at, e.last_observed_at, e.restored_at,
           e.valid_from, e.valid_to, e.spells)
          is distinct from (f.confidence, f.initial_confidence, f.observations, f.first_observed_at, f.last_observed_at,
                            f.restored_at, f.valid_from, f.valid_to, f.spells);
    update loci_data.edges e set valid_to = e.valid_from, spells = null, updated_at = greatest(e.updated_at, p_at)
    from unnest(p_ids, p_starts) u(id, starts)
    where e.namespace_id = p_namespace_id and e.id = any (p_ids) and e.id = u.id and u.starts is null
      and (e.valid_to is distinct from e.valid_from or e.spells is not null)
      and exists (select from loci_data.edge_observations o where o.namespace_id = p_namespace_id
                  and o.edge_id = u.id offset 0);
end $$;
comment on function loci_internal.store_folded_edges(integer, uuid[], timestamptz[], tstzmultirange[], timestamptz) is
    'Store spells and figures of edges as their evidence has them.';
