-- What is left of a role under the scope of this transaction's key: with scope read every role is reader, with write admin is writer.
-- Reads loci.scope, which loci.enter sets. Inlined. Called by authorize and its kin.
create or replace function loci.scoped_role(p_role text) returns text
language sql stable parallel safe
as $$
    select case when current_setting('loci.scope', true) = 'read' and p_role in ('writer', 'admin') then 'reader'
                when current_setting('loci.scope', true) = 'write' and p_role = 'admin' then 'writer'
                else p_role end
$$;
comment on function loci.scoped_role(text) is 'The role that an agent with this one has under the scope of the transaction''s key. Internal.';
