-- Trigger of rows that another cell sends: what is known here already is not inserted again, so that a cell may be
-- told the same by several. A key's older version changes nothing, a revocation stays, and the last use is the latest.
-- The row of the directory with more moves stands. Row is null: nothing is written.
create or replace function loci_internal.settle_replicated_row() returns trigger
language plpgsql volatile set search_path = ''
as $$
begin
    if tg_table_name = 'agents' then
        return case when not exists (select from loci_data.agents a where a.id = new.id) then new end;
    elsif tg_table_name = 'browser_sessions' then
        return case when not exists (select from loci_data.browser_sessions s where s.hash = new.hash) then new end;
    elsif tg_table_name = 'grants' then
        return case when not exists (select from loci_data.grants g where g.namespace_id = new.namespace_id
                                     and g.agent_id = new.agent_id) then new end;
    elsif tg_table_name = 'invitations' then
        return case when not exists (select from loci_data.invitations i where i.namespace_id = new.namespace_id
                                     and i.agent_id = new.agent_id) then new end;
    elsif tg_table_name = 'api_keys' and tg_op = 'INSERT' then
        delete from loci_data.api_keys k where k.id = new.id and k.version < new.version;
        return case when not exists (select from loci_data.api_keys k where k.id = new.id) then new end;
    elsif tg_table_name = 'api_keys' then
        if new.version < old.version then
            old.last_used_at := greatest(old.last_used_at, new.last_used_at);
            return old;
        end if;
        new.last_used_at := greatest(old.last_used_at, new.last_used_at);
        new.revoked_at := least(old.revoked_at, new.revoked_at);
        new.replaced_by := coalesce(new.replaced_by, old.replaced_by);
        return new;
    elsif tg_op = 'INSERT' then
        update loci_data.namespace_cells c set cell_id = new.cell_id, moves = new.moves
        where c.namespace_id = new.namespace_id and c.moves < new.moves;
        return case when not exists (select from loci_data.namespace_cells c
                                     where c.namespace_id = new.namespace_id) then new end;
    end if;
    return case when new.moves >= old.moves then new end;
end $$;
comment on function loci_internal.settle_replicated_row() is
    'Trigger: what another cell says of agents, keys, grants, sessions and the directory, against what is known here.';

create or replace trigger agents_replicated before insert on loci_data.agents
    for each row execute function loci_internal.settle_replicated_row();

create or replace trigger api_keys_replicated before insert or update on loci_data.api_keys
    for each row execute function loci_internal.settle_replicated_row();

create or replace trigger browser_sessions_replicated before insert on loci_data.browser_sessions
    for each row execute function loci_internal.settle_replicated_row();

create or replace trigger grants_replicated before insert on loci_data.grants
    for each row execute function loci_internal.settle_replicated_row();

create or replace trigger invitations_replicated before insert on loci_data.invitations
    for each row execute function loci_internal.settle_replicated_row();

create or replace trigger namespace_cells_replicated before insert or update on loci_data.namespace_cells
    for each row execute function loci_internal.settle_replicated_row();
do $$
begin
    alter table loci_data.agents enable replica trigger agents_replicated;
    alter table loci_data.api_keys enable replica trigger api_keys_replicated;
    alter table loci_data.browser_sessions enable replica trigger browser_sessions_replicated;
    alter table loci_data.grants enable replica trigger grants_replicated;
    alter table loci_data.invitations enable replica trigger invitations_replicated;
    alter table loci_data.namespace_cells enable replica trigger namespace_cells_replicated;
end $$;
