-- An analyst is none any more: the agent and its grants are deleted; what it sees is nothing from the next statement on. The login is
-- dropped in the same transaction, by who may (db/access/analysts.py). Internal.
-- Security definer: as add_analyst.
create or replace function loci.remove_analyst(p_login name) returns void
language plpgsql volatile security definer set search_path = ''
as $$
begin
    delete from loci_data.agents where id = loci.analyst_id(p_login);
end $$;
comment on function loci.remove_analyst(name) is 'Delete an analyst''s agent and grants. Errors: P0002. Internal.';
