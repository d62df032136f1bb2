-- Decide what a fact supersedes, and by what it is superseded, record each decision, and act on it: mode apply, or null
-- for the namespace's setting; propose only records. An unsure finding (find_contradictions) is proposed in either
-- mode. A fact has one successor: the first by valid_from. In mode apply, what was proposed before and is found again
-- is applied. p_since: pairs alone of which the other was recorded after it. superseded: attributes; proposed:
-- decisions. The aspect is locked by the caller.
create or replace function loci_internal.supersede_siblings(p_namespace_id integer, p_attribute_id uuid, p_origin text,
                                                            p_mode text, p_except uuid, p_at timestamptz,
                                                            p_since timestamptz default null)
returns table (superseded uuid[], proposed uuid[], applied uuid[])
language plpgsql volatile set search_path = ''
as $$
declare
    v_settings jsonb := loci_internal.settings(p_namespace_id);
    v_mode     text := coalesce(p_mode, v_settings ->> 'supersession');
    v_older    uuid[];
begin
    superseded := '{}';
    proposed := '{}';
    applied := '{}';
    if v_mode <> 'off' then
        with found as (
            select distinct on (f.older_id) f.*, case when v_mode = 'apply' and f.sure then 'applied'
                else 'proposed' end as status
            from loci_internal.find_contradictions(p_namespace_id, p_attribute_id, v_settings, p_origin = 'sweep') f
            where f.older_id is distinct from p_except and f.newer_id is distinct from p_except
              and (p_since is null or exists (
                   select from loci_data.attributes o where o.namespace_id = p_namespace_id
                   and o.id in (f.older_id, f.newer_id) and o.id <> p_attribute_id and o.recorded_at > p_since))
            order by f.older_id, f.sure desc, f.newer_from, f.newer_id
        ), decided as (
            insert into loci_data.supersessions as s (namespace_id, id, older_id, newer_id, signal, confidence,
                                                      evidence, origin, status, created_at,
                                                      decided_at, decided_by)
            select p_namespace_id, loci_api.uuid7(), f.older_id, f.newer_id, f.signal, f.confidence, f.evidence,
                   p_origin, f.status, p_at,
                   case f.status when 'applied' then p_at end, case f.status
                       when 'applied' then loci.current_agent() end
            from found f order by f.older_id
            on conflict on constraint supersessions_pair_key do update
            set status = excluded.status, decided_at = excluded.decided_at, decided_by = excluded.decided_by
            where s.status = 'proposed' and excluded.status = 'applied'
            returning s.id, s.older_id, s.status
        )
        select coalesce(array_agg(d.id) filter (where d.status = 'applied'), '{}'),
               coalesce(array_agg(d.id) filter (where d.status = 'proposed'), '{}'),
               coalesce(array_agg(d.older_id) filter (where d.status = 'applied'), '{}')
        into applied, proposed, v_older from decided d;
        superseded := loci_internal.refold_facts(p_namespace_id, v_older, p_at);
    end if;
    return next;
end $$;
comment on function loci_internal.supersede_siblings(integer, uuid, text, text, uuid, timestamptz, timestamptz) is
    'Record and apply the supersessions that an attribute is part of.';
