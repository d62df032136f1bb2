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
               confidence double precision,
               strength double precision, faded boolean, observations integer, first_observed_at timestamptz,
               last_observed_at timestamptz, restored_at timestamptz, fades_at timestamptz, valid_from timestamptz,
               valid_to timestamptz,
               recorded_at timestamptz, superseded_at timestamptz, metadata jsonb, aspect text, cursor text)
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
