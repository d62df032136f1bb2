-- Where does this server stand in the log of the database, and in which timeline? A primary says where its log ends, a
-- standby how far it has replayed. Every promotion begins a timeline. A standby that was further than the one that was
-- promoted has log that is no longer everybody's, and keeps its place on the old timeline for good: its position says
-- nothing of what it lacks. So a standby's timeline is one that it is sure to follow: that of its last restart point,
-- or that which it receives (the new primary sends nothing to one whose log is not its own). Null where it has none.
-- Security definer: what a standby receives is told to members of pg_read_all_stats. No table, no index; for anybody
-- who may call the service's functions.
create or replace function loci_api.log_position(out standby boolean, out "position" pg_lsn, out timeline integer)
language plpgsql volatile security definer set search_path = ''
as $$
begin
    standby := pg_catalog.pg_is_in_recovery();
    if standby then
        "position" := pg_catalog.pg_last_wal_replay_lsn();
        timeline := greatest((select c.timeline_id from pg_catalog.pg_control_checkpoint() c),
                             (select w.received_tli from pg_catalog.pg_stat_get_wal_receiver() w
                              where w.status = 'streaming'));
    else
        "position" := pg_catalog.pg_current_wal_insert_lsn();
        timeline := ('x' || left(pg_catalog.pg_walfile_name("position"), 8))::bit(32)::integer;
    end if;
end $$;
comment on function loci_api.log_position() is
    'Whether this server is a standby, how far in the log it is, and the timeline that it follows.';
