-- Which conversations have observed an entity is true of the one that it is merged into: add the sessions of p_from to
-- those of p_to, or take them off again (p_back). The rows of p_from stay: on a merged entity they are out of sight.
-- The caller holds both entities.
create or replace function loci_internal.share_sessions(p_namespace_id integer, p_from uuid, p_to uuid, p_back boolean)
returns void
language plpgsql volatile set search_path = ''
as $$
begin
    if not p_back then
        insert into loci_data.entity_sessions as k (namespace_id, entity_id, session_id, observations,
                                                    first_observed_at, last_observed_at)
        select p_namespace_id, p_to, s.session_id, s.observations, s.first_observed_at, s.last_observed_at
        from loci_data.entity_sessions s where s.namespace_id = p_namespace_id and s.entity_id = p_from
        order by s.session_id
        on conflict (namespace_id, entity_id, session_id) do update
        set observations = k.observations + excluded.observations,
            first_observed_at = least(k.first_observed_at, excluded.first_observed_at),
            last_observed_at = greatest(k.last_observed_at, excluded.last_observed_at);
        return;
    end if;
    delete from loci_data.entity_sessions k using loci_data.entity_sessions s
    where k.namespace_id = p_namespace_id and k.entity_id = p_to and s.namespace_id = p_namespace_id
      and s.entity_id = p_from
      and k.session_id = s.session_id and k.observations <= s.observations;
    update loci_data.entity_sessions k set observations = k.observations - s.observations
    from loci_data.entity_sessions s
    where k.namespace_id = p_namespace_id and k.entity_id = p_to and s.namespace_id = p_namespace_id
      and s.entity_id = p_from
      and k.session_id = s.session_id;
end $$;
comment on function loci_internal.share_sessions(integer, uuid, uuid, boolean) is
    'Add the conversations of one entity to those of another, or take them off again.';
