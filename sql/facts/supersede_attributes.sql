-- Act on decisions: the older attribute of each becomes superseded, true until the newer's valid_from, believed until
-- now. One that was superseded by something later ends earlier, where the newer comes between. As update_attribute
-- does; trigger attributes_belief keeps what was believed. Attributes are locked in order of id. Returns those that
-- changed.
create or replace function loci_internal.supersede_attributes(p_namespace_id integer, p_ids uuid[], p_at timestamptz)
returns uuid[]
language plpgsql volatile set search_path = ''
as $$
declare
    v_older uuid[] := array(select s.older_id from loci_data.supersessions s where s.namespace_id = p_namespace_id
                            and s.id = any (p_ids));
begin
    if v_older = '{}' then
        return v_older;
    end if;
    perform from loci_data.attributes a where a.namespace_id = p_namespace_id and a.id = any (v_older) order by a.id
        for no key update;
    with ended as (
        update loci_data.attributes a
        set status = 'superseded', superseded_by = s.newer_id, superseded_at = coalesce(a.superseded_at, p_at),
            updated_at = greatest(a.updated_at, p_at),
            valid_to = least(a.valid_to, greatest(n.valid_from, a.valid_from))
        from loci_data.supersessions s
        cross join lateral (select o.valid_from from loci_data.attributes o where o.namespace_id = p_namespace_id
                            and o.id = s.newer_id offset 0) n
        where s.namespace_id = p_namespace_id and s.id = any (p_ids)
          and a.namespace_id = p_namespace_id and a.id = any (v_older) and a.id = s.older_id
          and (a.status = 'active' or a.status = 'superseded' and a.superseded_by is not null
               and a.valid_to > n.valid_from)
        returning a.id
    )
    select coalesce(array_agg(e.id order by e.id), '{}') into v_older from ended e;
    return v_older;
end $$;
comment on function loci_internal.supersede_attributes(integer, uuid[], timestamptz) is
    'Supersede the older attributes of decisions; their ids.';
