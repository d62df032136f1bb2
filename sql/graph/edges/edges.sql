-- Edges as they are read: rows, one edge, lists.

-- Edges as the API shows them, at a moment, as known at another (infinity: as believed now): names joined, effective
-- confidence, faded or not, the spell of then as believed then, confidence and counts of the evidence until then (see
-- edge_at). strength, aspect and metadata are present ones, and so are the names, and the rates and threshold of decay;
-- fades_at is reckoned from them. An edge that holds and was not observed yet has 0 observations, and nothing has
-- decayed.
create or replace function loci_internal.edge_rows(p_namespace_id integer, p_ids uuid[], p_as_of timestamptz,
                                                   p_known_at timestamptz)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text)
language sql stable parallel safe
as $$
    select e.id, e.source_id, s.name, e.type, e.target_id, t.name, e.literal,
           loci.effective_confidence(b.confidence, r.rate, coalesce(b.restored_at, p_as_of), p_as_of), e.strength,
           f.fades_at <= p_as_of, b.observations, b.first_at, b.last_at, b.restored_at,
           case when b.restored_at is not null and f.fades_at < '10000-01-01 00:00:00+00' then f.fades_at end,
           b.valid_from, b.valid_to, e.recorded_at,
           case when e.superseded_at <= p_known_at then e.superseded_at end, e.metadata, a.name
    from (select u.id from unnest(p_ids) u(id)) p
    join loci_data.edges e on e.namespace_id = p_namespace_id and e.id = p.id
    join loci_data.entities s on s.namespace_id = p_namespace_id and s.id = e.source_id
    left join loci_data.entities t on t.namespace_id = p_namespace_id and t.id = e.target_id
    left join loci_data.aspects a on a.namespace_id = p_namespace_id and a.id = e.aspect_id
    cross join (select loci_internal.settings(p_namespace_id) as settings offset 0) n
    left join loci_data.edge_types y on y.namespace_id = p_namespace_id and y.type = e.type
    cross join lateral (select coalesce(y.decay_rate, (n.settings ->> 'decay_rate')::double precision) as rate) r
    cross join lateral (
        select e.confidence, e.restored_at, e.first_observed_at, e.last_observed_at, e.observations,
               case when e.spells is null then e.valid_from else lower(w.spell) end,
               case when e.spells is null then e.valid_to else upper(w.spell) end
        from (select loci_internal.spell_around(e.valid_from, e.valid_to, e.spells, p_as_of) as spell) w
        where e.last_observed_at <= p_as_of and e.updated_at <= p_known_at
        union all
        select v.confidence, v.restored_at, v.first_observed_at, v.last_observed_at, v.observations, v.valid_from,
               v.valid_to
        from loci_internal.edge_at(p_namespace_id, e.id, e.valid_from, e.valid_to, e.spells, p_as_of, p_known_at) v
        where not (e.last_observed_at <= p_as_of and e.updated_at <= p_known_at)
    ) b(confidence, restored_at, first_at, last_at, observations, valid_from, valid_to)
    cross join lateral (select loci.fades_at(b.confidence, r.rate, coalesce(b.restored_at, p_as_of),
                                             (n.settings ->> 'edge_threshold')::double precision)) f(fades_at)
$$;
comment on function loci_internal.edge_rows(integer, uuid[], timestamptz, timestamptz) is
    'Edges by id, in the columns that the API shows, at a moment as known at another.';

-- One edge with all that it rests on: as list_edges shows it at as_of, as known at known_at (null: now, as believed
-- now), whether it holds then or not; the spells in which it holds, and those that were believed before; its
-- observations, newest first, at most p_limit. One that rests on forgotten memories alone is not there. One that was
-- recorded anew since, because an end of it was merged or
-- split, is there by its old id, superseded. Primary keys. Security definer: past the policies; checks the caller
-- itself. Errors: 42501, P0002, 22023 (limit, a moment).
create or replace function loci.get_edge(p_namespace text, p_id uuid, p_as_of timestamptz default null,
                                         p_known_at timestamptz default null, p_limit integer default 100)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text, spells jsonb, evidence jsonb)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
declare
    v_ns       integer := loci_internal.authorize(p_namespace, 'reader');
    v_known_at timestamptz := coalesce(p_known_at, 'infinity');
begin
    perform loci_internal.check_page(p_limit);
    if not isfinite(p_as_of) or not isfinite(p_known_at) then
        raise invalid_parameter_value
            using message = format('%s must be a finite time', case when isfinite(p_as_of) is not false
                                   then 'known_at' else 'as_of' end),
            column = case when isfinite(p_as_of) is not false then 'known_at' else 'as_of' end;
    end if;
    return query
    select r.*, loci_internal.edge_spells_known(p_namespace, p_id, v_known_at),
           (select coalesce(jsonb_agg(to_jsonb(v) - 'nth' order by v.nth desc), '[]')
            from (select e.id, e.nth, e.observed_at, e.valid_from, e.valid_to, e.confidence,
                         e.fresh and e.nth > 1 and e.reinforcement <> 'corrected' as restored, e.session_id,
                         e.memory_id, e.recorded_at, e.reinforcement = 'corrected' as corrects
                  from loci_internal.edge_evidence(v_ns, p_id, 'infinity', v_known_at) e
                  order by e.nth desc limit p_limit) v)
    from loci_data.edges x
    cross join lateral loci_internal.edge_rows(v_ns, array[x.id], coalesce(p_as_of, clock_timestamp()), v_known_at) r
    where x.namespace_id = v_ns and x.id = p_id and x.recorded_at <= v_known_at
      and (exists (select from loci_internal.edge_evidence(v_ns, p_id, 'infinity', v_known_at) e
                   where e.reinforcement <> 'corrected') or not exists (
           select from loci_data.edge_observations o where o.namespace_id = v_ns and o.edge_id = p_id));
    if not found then
        raise no_data_found using message = format('edge %s does not exist', p_id), column = 'id';
    end if;
end $$;
comment on function loci.get_edge(text, uuid, timestamptz, timestamptz, integer) is
    'An edge at two moments, with its spells and its evidence. Errors: 42501, P0002, 22023.';

-- The spells of an edge as JSON, in order of valid time, then of when they were believed: [{valid_from, valid_to,
-- recorded_at, superseded_at}], known at a moment.
create or replace function loci_internal.edge_spells_known(p_namespace text, p_id uuid, p_known_at timestamptz)
returns jsonb
language sql stable set search_path = ''
as $$
    select coalesce(jsonb_agg(jsonb_build_object(
               'valid_from', s.valid_from, 'valid_to', s.valid_to, 'recorded_at', s.recorded_at,
               'superseded_at', case when s.superseded_at <= p_known_at then s.superseded_at end)
               order by s.valid_from, s.recorded_at, s.valid_to), '[]')
    from loci.edge_spells s
    where s.namespace = p_namespace and s.edge_id = p_id and s.recorded_at <= p_known_at
$$;
comment on function loci_internal.edge_spells_known(text, uuid, timestamptz) is
    'Spells of an edge known at a moment, as JSON.';

-- Edges of a namespace, of an entity or of a type, in order of discovery, a page at a time. Without faded ones; with
-- them (p_faded), or only them (p_only_faded); each row says whether it is. As of p_as_of, by what was known at
-- p_known_at (null: by what is believed now). cursor, on every row, is what to send for the page that starts after
-- it. Cost follows the page: see edge_page. Security definer: past the policies; checks the caller itself. Errors:
-- 42501, P0002, 22023 (limit, cursor).
create or replace function loci.list_edges(
    p_namespace text, p_entity text default null, p_type text default null, p_faded boolean default false,
    p_as_of timestamptz default null, p_limit integer default 50, p_cursor text default null,
    p_known_at timestamptz default null, p_only_faded boolean default false)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text, cursor text)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_as_of        timestamptz := coalesce(p_as_of, clock_timestamp());
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array_remove(array[p_entity], null),
                                                           'entity', v_known_at))[1];
    v_after        uuid;
begin
    perform loci_internal.check_page(p_limit);
    if not isfinite(v_as_of) then
        raise invalid_parameter_value using message = 'as_of must be a finite time', column = 'as_of';
    elsif p_known_at in ('infinity', '-infinity') then
        raise invalid_parameter_value using message = 'known_at must be a finite time', column = 'known_at';
    end if;
    v_after := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1]::uuid, loci_internal.nil_uuid());
    return query select r.*, loci_internal.make_cursor(jsonb_build_array(r.id)) from loci_internal.edge_rows(
        v_namespace_id, loci_internal.edge_page(v_namespace_id, v_entity_id, loci.canonical_type(p_type),
                                                p_faded or p_only_faded, v_as_of, v_known_at, v_after, p_limit,
                                                p_only_faded),
        v_as_of, v_known_at) r order by r.id;
end $$;
comment on function loci.list_edges(text, text, text, boolean, timestamptz, integer, text, timestamptz, boolean) is
    'Edges as of a moment, as known at another, oldest first, with names and effective confidence; cursor pages. '
    'Errors: 42501, P0002, 22023.';

-- Ids of the next edges of a namespace, an entity or a type, by id. Each source of them is one index in order:
-- edges_source and edges_target for an entity, else edges_type, else the primary key; they are merged, and reading
-- stops at the limit. Edges that do not answer for themselves at these moments are looked up in the evidence (see
-- adjacent_edges, confidence_at). p_known_at infinity: the present belief.
create or replace function loci_internal.edge_page(p_namespace_id integer, p_entity_id uuid, p_type text,
                                                   p_faded boolean, p_as_of timestamptz, p_known_at timestamptz,
                                                   p_after uuid, p_limit integer, p_only_faded boolean) returns uuid[]
language plpgsql stable set search_path = '' set plan_cache_mode = force_generic_plan
set enable_sort = off set enable_bitmapscan = off set enable_seqscan = off  -- merge the orders of the indexes
as $$
declare
    v_fades     double precision := loci_internal.settings(p_namespace_id) ->> 'edge_threshold';
    v_threshold double precision := case when p_faded then 0 else v_fades end;
    v_trusted   boolean := not loci_internal.is_decaying(p_namespace_id);
begin
    return array(
        select c.id from (
            (select e.* from loci_data.edges e where p_entity_id is null and p_type is null
                and e.namespace_id = p_namespace_id and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where p_entity_id is null
                and e.namespace_id = p_namespace_id and e.type = p_type and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.source_id = p_entity_id
             and e.id > p_after order by e.id)
            union all
            (select e.* from loci_data.edges e where e.namespace_id = p_namespace_id and e.target_id = p_entity_id
             and e.id > p_after
                and e.source_id <> p_entity_id order by e.id)
        ) c
        where (p_type is null or c.type = p_type) and c.recorded_at <= p_known_at
          and (c.superseded_at is null or c.superseded_at > p_known_at)
          and (c.updated_at > p_known_at
               or loci_internal.holds_in(c.valid_from, c.valid_to, c.spells, p_as_of))
          and case when c.last_observed_at <= p_as_of and c.updated_at <= p_known_at
              then case when p_faded then true when v_trusted then c.fades_at > p_as_of
                   else loci.effective_confidence(c.confidence, loci_internal.decay_rate(p_namespace_id, c.type),
                                                  c.restored_at, p_as_of) >= v_threshold end
              else loci_internal.confidence_at(p_namespace_id, c.id, c.valid_from, c.valid_to, c.spells,
                                               loci_internal.decay_rate(p_namespace_id, c.type),
                                   p_as_of, p_known_at) >= v_threshold end
          and (not p_only_faded or case when c.last_observed_at <= p_as_of and c.updated_at <= p_known_at and v_trusted
               then c.fades_at <= p_as_of
               else loci_internal.confidence_at(p_namespace_id, c.id, c.valid_from, c.valid_to, c.spells,
                                                loci_internal.decay_rate(p_namespace_id, c.type), p_as_of,
                                                p_known_at) < v_fades end)
        order by c.id limit p_limit);
end $$;
comment on function loci_internal.edge_page is
    'Ids of one page of edges.';

-- Which edges held at a moment, by what was known at another? For analysts: list_edges with the times first. Rows,
-- order, pages and checks are list_edges'. p_known_at null: by what is believed now.
create or replace function loci.edges_as_of(
    p_namespace text, p_as_of timestamptz, p_known_at timestamptz default null, p_faded boolean default false,
    p_limit integer default 1000, p_cursor text default null)
returns table (id uuid, source_id uuid, source text, type text, target_id uuid, target text, literal text,
               confidence double precision, strength double precision, faded boolean, observations integer,
               first_observed_at timestamptz, last_observed_at timestamptz, restored_at timestamptz,
               fades_at timestamptz, valid_from timestamptz, valid_to timestamptz, recorded_at timestamptz,
               superseded_at timestamptz, metadata jsonb, aspect text, cursor text)
language sql stable
as $$
    select e.* from loci.list_edges(p_namespace, null, null, p_faded, p_as_of, p_limit, p_cursor, p_known_at) e
$$;
comment on function loci.edges_as_of(text, timestamptz, timestamptz, boolean, integer, text) is
    'Edges as of a moment, as known at another; faded ones on request; cursor pages of up to 1,000. Errors: 42501, '
    'P0002, 22023.';
