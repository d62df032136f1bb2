-- One entity by id, name or alias, as of a moment, as known at another (null: now, and as believed now). With
-- p_known_at a name or alias of then leads to it too, and so it is with what was merged since: a merged one is the one
-- that it went into, from then on. It is there from first_seen_at on, and known from created_at on. A few look-ups.
-- Counters are present figures (see entity_rows). Security definer: the hot path, past the policies; checks the caller
-- itself. Errors: 42501, P0002.
create or replace function loci.get_entity(p_namespace text, p_ref text, p_as_of timestamptz default null,
                                           p_known_at timestamptz default null)
returns table (id uuid, name text, canonical_name text, type text, aliases text[], description text,
               confidence double precision,
               mentions integer, observations integer, pinned boolean, pinned_at timestamptz, metadata jsonb,
               first_seen_at timestamptz, created_at timestamptz, updated_at timestamptz,
               last_referenced_at timestamptz)
language plpgsql stable security definer set search_path = ''
as $$
declare
    v_namespace_id integer := loci_internal.authorize(p_namespace, 'reader');
    v_known_at     timestamptz := coalesce(p_known_at, 'infinity');
    v_id           uuid;
begin
    v_id := case when v_known_at < 'infinity' then loci_internal.entity_id_at(v_namespace_id, p_ref, v_known_at)
        else loci_internal.find_entity_id(v_namespace_id, p_ref) end;
    return query
    select e.* from loci_internal.entity_rows(v_namespace_id, array[v_id], v_known_at) e
    where e.created_at <= v_known_at and e.first_seen_at <= coalesce(p_as_of, 'infinity')
      and e.id <> all (loci_internal.hidden_entities(v_namespace_id, v_known_at));
    if not found then
        raise no_data_found using message = format('entity %L does not exist', p_ref), column = 'entity';
    end if;
end $$;
comment on function loci.get_entity(text, text, timestamptz, timestamptz) is
    'The entity with this id, name or alias, as of a moment, as known at another; mentions, observations and '
    'confidence are present figures. Errors: 42501, P0002.';
