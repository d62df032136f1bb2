-- Which logs lose what is older than their namespace keeps it? The table, the column of its time (second in an index, after the namespace),
-- the setting that counts the days, and whether what is of today (UTC) stays whatever the setting: budgets are reckoned from it.
-- The one place to add a log. Constant. Internal.
create or replace function loci.swept_logs() returns table (log text, moment text, days text, keeps_today boolean)
language sql immutable parallel safe
as $$
    values ('recalls', 'at', 'recall_log_days', false),
           ('key_uses', 'hour', 'key_use_days', false),
           ('jobs', 'finished_at', 'job_days', false),
           ('model_calls', 'started_at', 'job_days', true),
           ('feedback_signals', 'at', 'signal_days', false)
$$;
comment on function loci.swept_logs() is 'Logs that are swept: their tables, columns of time and settings of days. Internal.';
