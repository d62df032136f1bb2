-- May these items correct what they say they correct? It must be a version of the stated lineage that is believed and was ever valid,
-- and its correction must not end before it begins. Internal. Errors: P0002, 22023, 23P01 (corrected or forgotten already).
create or replace function loci.check_corrections(p_namespace_id integer, p_items loci.memory_input[]) returns void
language plpgsql stable set search_path = ''
as $$
declare
    v_item record;
begin
    for v_item in
        select i.*, m.id as found, m.lineage as its_lineage, coalesce(i.valid_from, m.valid_from) as start, coalesce(i.valid_to, m.valid_to) as final,
               m.status = 'active' and (m.valid_to is null or m.valid_to > m.valid_from) as believed
        from unnest(p_items) i left join loci_data.memories m on m.namespace_id = p_namespace_id and m.id = i.corrects
        where i.corrects is not null
    loop
        if v_item.found is null then
            raise no_data_found using message = format('memory %s does not exist', v_item.corrects), column = 'corrects';
        elsif v_item.its_lineage <> v_item.lineage then
            raise invalid_parameter_value using column = 'corrects',
                message = format('memory %s is a version of lineage %L, not of %L', v_item.corrects, v_item.its_lineage, v_item.lineage);
        elsif not v_item.believed then
            raise exclusion_violation using column = 'corrects', constraint = 'memories_corrects',
                message = format('memory %s is believed no longer: it was corrected or forgotten', v_item.corrects);
        elsif v_item.final < v_item.start then
            raise invalid_parameter_value using column = 'valid_from',
                message = format('the correction would end (%s) before it begins (%s)', v_item.final, v_item.start);
        end if;
    end loop;
end $$;
comment on function loci.check_corrections(integer, loci.memory_input[]) is 'Refuse corrections of what is not there or not believed. Internal.';
