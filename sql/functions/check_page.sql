-- Refuse the length of a page that is none: 1 to 1000. One more may be asked for, to know whether there are more. Internal. Errors: 22023 (limit).
create or replace function loci.check_page(p_limit integer) returns void
language plpgsql immutable parallel safe
as $$
begin
    perform loci.check_limit(case p_limit when 1001 then 1000 else p_limit end);
end $$;
comment on function loci.check_page(integer) is 'Refuse the length of a page that is none. Errors: 22023. Internal.';
