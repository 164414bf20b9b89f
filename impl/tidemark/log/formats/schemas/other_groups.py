"""The records of `__consumer_offsets` that share groups (KIP-932) and streams groups (KIP-1071) have."""

from __future__ import annotations

TEXT = """
ShareGroupMemberMetadataKey 0 type 10
    groupId string
    memberId string

ShareGroupMemberMetadataValue 0 flexible 0+ type 10
    rackId string?
    clientId string
    clientHost string
    subscribedTopicNames []string

ShareGroupMetadataKey 0 type 11
    groupId string

ShareGroupMetadataValue 0 flexible 0+ type 11
    epoch int32
    metadataHash int64

ShareGroupTargetAssignmentMetadataKey 0 type 12
    groupId string

ShareGroupTargetAssignmentMetadataValue 0 flexible 0+ type 12
    assignmentEpoch int32
    assignmentTimestamp int64 tag 0

ShareGroupTargetAssignmentMemberKey 0 type 13
    groupId string
    memberId string

ShareGroupTargetAssignmentMemberValue 0 flexible 0+ type 13
    topicPartitions []
        topicId uuid
        partitions []int32

ShareGroupCurrentMemberAssignmentKey 0 type 14
    groupId string
    memberId string

ShareGroupCurrentMemberAssignmentValue 0 flexible 0+ type 14
    memberEpoch int32
    previousMemberEpoch int32
    state int8
    assignedPartitions []
        topicId uuid
        partitions []int32

ShareGroupStatePartitionMetadataKey 0 type 15
    groupId string

ShareGroupStatePartitionMetadataValue 0 flexible 0+ type 15
    initializingTopics []
        topicId uuid
        topicName string
        partitions []int32
    initializedTopics []
        topicId uuid
        topicName string
        partitions []int32
    deletingTopics []
        topicId uuid
        topicName string

StreamsGroupMetadataKey 0 type 17
    groupId string

StreamsGroupMetadataValue 0 flexible 0+ type 17
    epoch int32
    metadataHash int64
    validatedTopologyEpoch int32 tag 0 = -1
    lastAssignmentConfigs []? tag 1
        key string
        value string
    storedDescriptionTopologyEpoch int32 tag 2 = -1
    failedDescriptionTopologyEpoch int32 tag 3 = -1

StreamsGroupMemberMetadataKey 0 type 19
    groupId string
    memberId string

StreamsGroupMemberMetadataValue 0 flexible 0+ type 19
    instanceId string?
    rackId string?
    clientId string
    clientHost string
    rebalanceTimeoutMs int32 = -1
    topologyEpoch int32
    processId string
    userEndpoint {}? = null
        host string
        port uint16
    clientTags []
        key string
        value string

StreamsGroupTargetAssignmentMetadataKey 0 type 20
    groupId string

StreamsGroupTargetAssignmentMetadataValue 0 flexible 0+ type 20
    assignmentEpoch int32
    assignmentTimestamp int64 tag 0

StreamsGroupTargetAssignmentMemberKey 0 type 21
    groupId string
    memberId string

StreamsGroupTargetAssignmentMemberValue 0 flexible 0+ type 21
    activeTasks []
        subtopologyId string
        partitions []int32
    standbyTasks []
        subtopologyId string
        partitions []int32
    warmupTasks []
        subtopologyId string
        partitions []int32

StreamsGroupCurrentMemberAssignmentKey 0 type 22
    groupId string
    memberId string

StreamsGroupCurrentMemberAssignmentValue 0 flexible 0+ type 22
    memberEpoch int32
    previousMemberEpoch int32
    state int8
    activeTasks []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0
    standbyTasks []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0
    warmupTasks []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0
    activeTasksPendingRevocation []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0
    standbyTasksPendingRevocation []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0
    warmupTasksPendingRevocation []
        subtopologyId string
        partitions []int32
        assignmentEpochs []int32? tag 0

StreamsGroupTopologyKey 0 type 23
    groupId string

StreamsGroupTopologyValue 0 flexible 0+ type 23
    epoch int32
    subtopologies []
        subtopologyId string
        sourceTopics []string
        sourceTopicRegex []string
        stateChangelogTopics []
            name string
            partitions int32
            replicationFactor int16
            topicConfigs []
                key string
                value string
        repartitionSinkTopics []string
        repartitionSourceTopics []
            name string
            partitions int32
            replicationFactor int16
            topicConfigs []
                key string
                value string
        copartitionGroups []
            sourceTopics []int16
            sourceTopicRegex []int16
            repartitionSourceTopics []int16
"""
