-- What waits for a model gets a job, at the end of the transaction: by then it holds all its other locks, and waits for nobody who waits for it.
-- A trigger that can wait cannot be replaced, so it is made anew.
drop trigger if exists contradiction_queue_job on loci_data.contradiction_queue;
create constraint trigger contradiction_queue_job after insert on loci_data.contradiction_queue deferrable initially deferred
    for each row execute function loci.leave_contradictions();
