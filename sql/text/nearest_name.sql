-- The name that was probably meant: of those known the one that shares the most pairs of letters with it; null where
-- none shares any. Its first hundred letters count. Reads what it is given.
create or replace function loci_internal.nearest_name(p_name text, p_known text[]) returns text
language sql immutable parallel safe set search_path = ''
return (
    select k.name
    from unnest(p_known) k(name)
    cross join lateral (select count(*) as shared from generate_series(1, least(length(p_name), 100) - 1) i
                        where position(lower(substr(p_name, i, 2)) in lower(k.name)) > 0) s
    where s.shared > 0
    order by s.shared::double precision / greatest(length(p_name), length(k.name)) desc, k.name limit 1);
comment on function loci_internal.nearest_name(text, text[]) is
    'The known name that shares the most pairs of letters with this one, or null.';
