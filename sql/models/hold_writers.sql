-- Let nobody write memories, entities or models until the transaction ends. A holder of one of these tables may be
-- about to write the other, so this never waits for long while it holds one: it lets go and tries again, and never
-- makes others the victim of a deadlock. Errors: 55P03 (they were not free together in fifty tries of up to 0.1 s).
create or replace function loci_internal.hold_writers() returns void
language plpgsql volatile set search_path from current
as $$
declare
    v_patience text := current_setting('lock_timeout');
begin
    for v_try in 1..50 loop
        begin
            set local lock_timeout = '100ms';
            lock table loci_data.memories, loci_data.entities, loci_data.embedding_models in share row exclusive mode;
            perform set_config('lock_timeout', v_patience, true);
            return;
        exception when lock_not_available then
            perform pg_sleep(0.02 * random());
        end;
    end loop;
    raise lock_not_available using message = 'others have been writing memories and entities all the time; try again';
end $$;
comment on function loci_internal.hold_writers() is
    'Let nobody write memories, entities or models until the transaction ends, without a deadlock. Errors: 55P03.';
