-- What superseded what, and why? Decisions of a namespace, newest first, a page at a time; of one status, signal or
-- entity if asked. cursor, on every row, is what to send for the page that starts after it. Walks the primary key or
-- supersessions_status backwards; of an entity: all of its attributes' and edges' decisions. Security definer: past the
-- policies; checks the caller itself. Errors: 42501, P0002 (namespace, entity), 22023 (status, signal, limit, cursor).
create or replace function loci.list_supersessions(
    p_namespace text, p_status text default null, p_signal text default null, p_entity text default null,
    p_limit integer default 50, p_cursor text default null)
returns table (id uuid, status text, signal text, confidence double precision, evidence text[], origin text,
               entity_id uuid, entity text,
               aspect_id uuid, aspect text, older_id uuid, older text, newer_id uuid, newer text,
               created_at timestamptz,
               decided_at timestamptz, decided_by uuid, undone_at timestamptz, ended_at timestamptz, cursor text)
language plpgsql stable security definer set search_path = '' set enable_seqscan = off
as $$
#variable_conflict use_column
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_entity_id    uuid := (loci_internal.resolve_entities(v_namespace_id, array_remove(array[p_entity], null),
                                                           'entity'))[1];
    v_of_entity    uuid[];
    v_ids          uuid[];
    v_before       uuid;
begin
    perform loci_internal.check_page(p_limit);
    if p_status not in ('proposed', 'applied', 'dismissed', 'undone') then
        raise invalid_parameter_value
            using message = format('status must be proposed, applied, dismissed or undone, not %L', p_status),
            column = 'status';
    elsif p_signal not in ('negation', 'antonym', 'value_conflict', 'temporal_marker', 'model', 'single_valued',
                           'replaced') then
        raise invalid_parameter_value using column = 'signal',
            message = format('signal must be negation, antonym, value_conflict, temporal_marker, model, '
                             'single_valued or replaced, not %L', p_signal);
    end if;
    v_before := coalesce((loci_internal.read_cursor(p_cursor, 'uuid'))[1], 'ffffffff-ffff-ffff-ffff-ffffffffffff');
    if v_entity_id is not null then
        v_of_entity := array(
            select s.id from loci_data.aspects p
            join loci_data.attributes a on a.namespace_id = v_namespace_id and a.aspect_id = p.id
            join loci_data.supersessions s on s.namespace_id = v_namespace_id and s.older_id = a.id
            where p.namespace_id = v_namespace_id and p.entity_id = v_entity_id
            union
            select s.id from loci_data.edges e
            join loci_data.supersessions s on s.namespace_id = v_namespace_id and s.older_edge_id = e.id
            where e.namespace_id = v_namespace_id and e.source_id = v_entity_id);
    end if;
    v_ids := array(
        select s.id from loci_data.supersessions s
        where s.namespace_id = v_namespace_id and s.id < v_before
          and (p_status is null or case when s.status <> 'applied' or s.newer_id is null then s.status = p_status
               else p_status = (select case when loci_internal.decision_is_idle(a) then 'dismissed' else 'applied' end
                                from loci_data.attributes a where a.namespace_id = v_namespace_id
                                and a.id = s.newer_id) end)
          and (p_status is null or s.status in (p_status, case p_status when 'dismissed' then 'applied' end))
          and (p_signal is null or s.signal = p_signal)
          and (v_of_entity is null or s.id = any (v_of_entity))
        order by s.id desc limit p_limit);
    return query select r.*, loci_internal.make_cursor(jsonb_build_array(r.id))
        from loci_internal.supersession_rows(v_namespace_id, v_ids) r order by r.id desc;
end $$;
comment on function loci.list_supersessions(text, text, text, text, integer, text) is
    'Supersessions, newest first, by status, signal or entity; cursor pages. Errors: 42501, P0002, 22023.';
